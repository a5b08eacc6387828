package etcd

import (
	"context"
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// Target is the etcd cluster that an action works on.
type Target struct {
	Cluster string `yaml:"cluster" rule:"in:etcd,etcd-events,etcd-calico" doc:"Name of the etcd cluster: etcd, the cluster's own, etcd-events, which has its events, or etcd-calico, which has the objects of Calico. Default etcd."`
}

// hosts returns the hosts of the members. It fails when the cluster has no such etcd cluster.
func (t Target) hosts(actx engine.ActionContext) ([]Host, error) {
	e, err := t.resolve(actx)
	return Hosts(e), err
}

// resolve returns the etcd cluster.
func (t Target) resolve(actx engine.ActionContext) (cluster.Etcd, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return cluster.Etcd{}, err
	}
	return c.EtcdNamed(t.Cluster)
}

// opener connects to the members of the etcd cluster.
func (t Target) opener(ctx context.Context, actx engine.ActionContext) (Opener, error) {
	e, err := t.resolve(actx)
	if err != nil {
		return nil, err
	}
	return opener(ctx, actx, e)
}

// place returns the host of the task and the hosts of all members.
func (t Target) place(actx engine.ActionContext) (self Host, all []Host, err error) {
	if all, err = t.hosts(actx); err != nil {
		return Host{}, nil, err
	}
	i := slices.IndexFunc(all, func(h Host) bool { return h.Name == actx.Host() })
	if i < 0 {
		return Host{}, nil, fmt.Errorf("host %s is not an etcd host of the cluster", actx.Host())
	}
	return all[i], all, nil
}

// remaining returns the hosts of the members, without those that leave the cluster.
func (t Target) remaining(ctx context.Context, actx engine.ActionContext) (Opener, []Host, error) {
	hosts, err := t.hosts(actx)
	if err != nil {
		return nil, nil, err
	}
	open, err := t.opener(ctx, actx)
	return open, hosts, err
}

// unitPath is the path of the unit of a member. An installation that changes its address gives
// the address to the other members before the unit starts with it.
func unitPath(name string) string { return "/etc/systemd/system/" + nameOrOwn(name) + ".service" }

// markPath is the path of a file that is written only after the member was healthy, so it proves
// that the etcd cluster has worked before; the unit checks it.
func markPath(name string) string { return "/etc/deployer/" + nameOrOwn(name) + "-member" }

func nameOrOwn(name string) string {
	if name == "" {
		return cluster.EtcdOwn
	}
	return name
}
