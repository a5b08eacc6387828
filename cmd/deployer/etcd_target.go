package main

import (
	"errors"

	"github.com/spf13/cobra"

	"deployer/cluster"
)

// etcdTarget is the etcd cluster that a verb below etcd works on.
type etcdTarget struct{ events, calico bool }

func (t *etcdTarget) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&t.events, "events", false, "work on the etcd cluster of events (cluster.etcd.events), not on the cluster's own")
	cmd.Flags().BoolVar(&t.calico, "calico", false, "work on the etcd cluster of Calico (cluster.network.calico.datastore: etcd), not on the cluster's own")
	cmd.MarkFlagsMutuallyExclusive("events", "calico")
}

// name returns the name of the etcd cluster: the variable etcd_name of playbooks.
func (t *etcdTarget) name() string {
	switch {
	case t.events:
		return cluster.EtcdEvents
	case t.calico:
		return cluster.EtcdCalico
	}
	return cluster.EtcdOwn
}

// own reports whether the verb works on the cluster's own etcd.
func (t *etcdTarget) own() bool { return t.name() == cluster.EtcdOwn }

// of returns the etcd cluster of the inventory. It fails with the exit code of wrong usage when the
// inventory has no such etcd cluster.
func (t *etcdTarget) of(c *cluster.Cluster) (cluster.Etcd, error) {
	e, err := c.EtcdNamed(t.name())
	switch {
	case err == nil:
		return e, nil
	case t.calico:
		return e, usageError(errors.New("--calico: Calico has no etcd: cluster.network.calico.datastore is not etcd"))
	}
	return e, usageError(errors.New("--events: events are in the cluster's own etcd: cluster.etcd.events is not enabled"))
}
