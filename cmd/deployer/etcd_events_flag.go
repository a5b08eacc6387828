package main

import (
	"errors"

	"github.com/spf13/cobra"

	"deployer/cluster"
)

// etcdTarget is the etcd cluster that a verb below etcd works on.
type etcdTarget struct{ events bool }

func (t *etcdTarget) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.events, "events", false, "work on the etcd cluster of events (cluster.etcd.events), not on the cluster's own")
}

// name returns the name of the etcd cluster: the variable etcd_name of playbooks.
func (t *etcdTarget) name() string {
	if t.events {
		return cluster.EtcdEvents
	}
	return cluster.EtcdOwn
}

// of returns the etcd cluster of the inventory. It fails with the exit code of wrong usage when the
// inventory has no etcd cluster of events.
func (t *etcdTarget) of(c *cluster.Cluster) (cluster.Etcd, error) {
	e, err := c.EtcdNamed(t.name())
	if err != nil {
		return e, usageError(errors.New("--events: events are in the cluster's own etcd: cluster.etcd.events is not enabled"))
	}
	return e, nil
}
