package main

import (
	"strings"
	"testing"

	"deployer/cluster"
)

// TestEtcdTarget: each flag selects its etcd cluster, and says what is missing in an inventory without it.
func TestEtcdTarget(t *testing.T) {
	t.Parallel()
	all := &cluster.Cluster{Etcd: cluster.Etcd{DataDir: "own"}, EtcdEvents: &cluster.Etcd{DataDir: "events"}, EtcdCalico: &cluster.Etcd{DataDir: "calico"}}
	for _, tt := range []struct {
		target    etcdTarget
		dir, says string
	}{
		{etcdTarget{}, "own", ""},
		{etcdTarget{events: true}, "events", "cluster.etcd.events is not enabled"},
		{etcdTarget{calico: true}, "calico", "cluster.network.calico.datastore is not etcd"},
	} {
		if e, err := tt.target.of(all); err != nil || e.DataDir != tt.dir {
			t.Errorf("%+v is %q, %v", tt.target, e.DataDir, err)
		}
		_, err := tt.target.of(&cluster.Cluster{})
		if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v without it: %v", tt.target, err)
		}
	}
	cmd := newEtcdBackup(env{})
	cmd.SetArgs([]string{"--events", "--calico"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "events calico") {
		t.Errorf("both flags: %v", err)
	}
}
