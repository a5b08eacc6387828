package cluster

import (
	"fmt"
	"slices"
)

// NewDemotion returns the departure of masters that stay in the cluster as minions: their
// API servers and etcd members leave, their nodes and load balancers stay. before and
// after are the cluster with them as masters and as minions.
func NewDemotion(before, after *Cluster, hosts []string) *Departure {
	d := NewDeparture(before, hosts, nil)
	d.KeepNodes, d.Nodes, d.Proxies = true, []string{}, []string{}
	for _, name := range hosts {
		d.Obsolete[name] = obsoleteFiles(before.Nodes[name], after.Nodes[name])
	}
	return d
}

// CheckDemotion returns the reasons why hosts cannot become minions that follow from the
// inventory alone.
func (d *Departure) CheckDemotion(before, after *Cluster) Problems {
	var out Problems
	for _, name := range d.Hosts {
		if !slices.Contains(d.Masters, name) {
			out = append(out, Problem{Code: "no-master-there", Subject: "scale-down", Message: fmt.Sprintf("%s is not a master in the inventory: --keep-node takes API server and etcd member off a master; change its role in the inventory afterwards", name)})
		}
	}
	return append(out, d.Check(before, after)...)
}

// WithoutControlPlane returns the hosts with those in leaving as minions: without the roles
// master and etcd.
func WithoutControlPlane(hosts []Host, leaving []string) []Host {
	out := slices.Clone(hosts)
	for i, h := range out {
		if !slices.Contains(leaving, h.Name) {
			continue
		}
		out[i].Roles = []string{RoleMinion}
		if slices.Contains(h.Roles, RoleProxy) {
			out[i].Roles = append(out[i].Roles, RoleProxy)
		}
	}
	return out
}

// obsoleteFiles lists the certificates, keys, kubeconfigs and configuration files of a host
// that it has no use for any more.
func obsoleteFiles(before, after Node) []string {
	out := []string{}
	now := componentFiles(after)
	for _, path := range componentFiles(before) {
		if !slices.Contains(now, path) {
			out = append(out, path)
		}
	}
	return out
}

func componentFiles(n Node) []string {
	out := slices.Clone(n.Authorities)
	for _, c := range n.Certificates {
		out = append(out, c.CertPath, c.KeyPath)
	}
	for _, k := range n.Kubeconfigs {
		out = append(out, k.Path)
	}
	for _, f := range n.APIServerFiles {
		out = append(out, f.Dest)
	}
	return out
}
