package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/limit"
	"deployer/operations"
)

func TestPrintBatches(t *testing.T) {
	c := &cluster.Cluster{Masters: []string{"m1"}, Minions: []string{"w1", "w2", "w3", "w4"}}
	c.Etcd.Members = []cluster.Endpoint{{Name: "m1"}}
	limits := cluster.Rollout{
		MaxUnavailable: []cluster.LabelLimit{{Label: "rack", Limit: limit.Limit{Percent: 50, Share: true}}, {Label: "zone", Limit: limit.Limit{Count: 1}}},
		Spread:         "zone", Critical: []string{"m1", "w2", "w3"},
	}
	var out bytes.Buffer
	printBatches(&out, c, operations.UpgradeOptions{BatchSize: limit.Limit{Percent: 50, Share: true}, Canary: 1}, limits, nil)
	want := `order:
  1. a verified snapshot of etcd, of a follower where there is one
  2. etcd: m1, one at a time
  3. masters: m1, one at a time
  4. minions: w[1:4], one first, then at most 2 at a time
     at most 50% at a time with the same rack
     at most 1 at a time with the same zone
     in turns over the values of zone
     a failure on w[2:3] stops the upgrade
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestPrintHooks(t *testing.T) {
	var out bytes.Buffer
	printHooks(&out, []cluster.HookSpec{{Name: "up", Phase: "after"}, {Name: "database", Phase: "before"}, {Name: "ticket", Phase: "before", Always: true}})
	want := "hooks of each node, before its pods leave: database, ticket (also when pods stay)\nhooks of each node, before it takes pods again: up\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
