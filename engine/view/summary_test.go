package view

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"deployer/engine"
)

func TestSummary(t *testing.T) {
	failure := &engine.Failure{Message: "etcd.service ended with exit code 2; see `journalctl -u etcd`", Detail: "bad flag\n"}
	lost := &engine.Failure{Message: "no answer from 10.0.0.9:22 within 10s"}
	fine := engine.HostReport{Host: "m1", OK: 40, Changed: 7, Skipped: 3}
	same := engine.HostReport{Host: "m2", OK: 47, Skipped: 3}
	var many []engine.HostReport
	for i := range 30 {
		many = append(many, engine.HostReport{Host: fmt.Sprintf("minion-%03d", i+1), Failure: lost, Unreachable: true})
	}
	var forAll []engine.HostReport
	for _, name := range []string{"m1", "m2", "n1"} {
		forAll = append(forAll, engine.HostReport{Host: name, Failed: 1, RunOnce: true, FailedStep: "decide the pod range of every node", Failure: &engine.Failure{Message: "node m1: its range is outside; node n1: its range is outside"}})
	}
	var manyStays []engine.Stay
	for i, h := range many {
		manyStays = append(manyStays, engine.Stay{Step: fmt.Sprintf("step %d", i+1), Hosts: []string{h.Host, many[i/20].Host, many[29].Host}})
	}
	var rack []engine.HostReport
	for i := range 3 {
		name := fmt.Sprintf("n%d", i+1)
		rack = append(rack, engine.HostReport{Host: name, Unreachable: true, Failure: &engine.Failure{Message: fmt.Sprintf("%s: connect: no connection to 10.0.0.%d:22 within 10s; check the network (tried 4 times)", name, i+1)}})
	}
	rack = append(rack, engine.HostReport{Host: "n4", Unreachable: true, Failure: &engine.Failure{Message: "n4: connect: dial tcp [fd00::4]:22: connection refused"}})
	for name, r := range map[string]engine.Report{
		"rack-down":      {Hosts: append(rack, fine)},
		"done":           {Hosts: []engine.HostReport{fine, same}},
		"nothing":        {Hosts: []engine.HostReport{same}},
		"check":          {Hosts: []engine.HostReport{fine, same}, Check: true},
		"check-nothing":  {Hosts: []engine.HostReport{same}, Check: true},
		"partial":        {Hosts: []engine.HostReport{fine, {Host: "n1", OK: 2, Failed: 1, Failure: failure, FailedStep: "etcd runs"}, {Host: "n2", Failure: failure, FailedStep: "etcd runs"}, {Host: "n3", Failure: lost, Unreachable: true}}},
		"partial-many":   {Hosts: many},
		"aborted-budget": {Hosts: []engine.HostReport{fine, {Host: "m2", Failed: 1, Failure: failure, FailedStep: "etcd runs"}, {Host: "m3", Cancelled: true}}, Aborted: `too many hosts of "master" failed: 1 of 3 (m2), allowed are 0; first cause on m2: ` + failure.Message},
		"refused":        {Hosts: []engine.HostReport{{Host: "m1", OK: 3, Failed: 1, FailedStep: "report", RunOnce: true, Failure: &engine.Failure{Message: "preflight found 1 problem on 1 host; nothing was changed", Detail: "HOST  PROBLEM\nm2    swap is on"}}, {Host: "m2", Cancelled: true}}, Aborted: `"report" failed (run once, on m1): preflight found 1 problem on 1 host; nothing was changed`},
		"left":           {Hosts: []engine.HostReport{fine, {Host: "n3", Failure: lost, Unreachable: true}}, LeftOpen: []string{"node n3 is left cordoned: node n3 is not Ready: not within 20s: NodeStatusUnknown Kubelet stopped posting node status.; once it is well: kubectl uncordon n3"}},
		"restored": {Hosts: []engine.HostReport{fine, {Host: "n1", OK: 9, Changed: 5, Failed: 1, FailedStep: "the kubelet renews its lease", Failure: &engine.Failure{Message: "kubelet.service restarts again and again"}, Restored: &engine.RestoreResult{Steps: 2}}, {Host: "m2", Cancelled: true}},
			Aborted: `the rollout of "kubelet" has stopped: n1 failed at "the kubelet renews its lease" after it was changed; it was restored (2 steps) and passes its checks again; 3 other hosts were not changed`},
		"restored-in-part": {Hosts: []engine.HostReport{fine, {Host: "n1", OK: 9, Changed: 5, Failed: 1, FailedStep: "BIRD has its sessions and routes as before", Failure: &engine.Failure{Message: "2 sessions are down"}, Restored: &engine.RestoreResult{Steps: 3}}, {Host: "n2", OK: 9, Changed: 2, Cancelled: true}},
			Aborted: `the rollout of "pod network" has stopped: n1 failed`,
			Stays:   []engine.Stay{{Step: "certificates", Hosts: []string{"n1", "n2"}}, {Step: "kubeconfigs", Hosts: []string{"n1", "n2"}}, {Step: "directories of deployer's own", Hosts: []string{"m1"}}}},
		"run-once-for-all": {Hosts: forAll, Aborted: `"decide the pod range of every node" failed (run once, on m1)`},
		"stays-many":       {Hosts: many, Stays: manyStays},
		"not-begun": {Hosts: []engine.HostReport{fine, {Host: "n1", OK: 9, Failed: 1, FailedStep: "pods leave the node", Failure: &engine.Failure{Message: "node n1 is not drained: timeout after 15m0s"}, Restored: &engine.RestoreResult{NotBegun: true}}, {Host: "n2", Cancelled: true}},
			Aborted: `the rollout of "minion" has stopped: n1 failed at "pods leave the node"; its change was not begun; 3 other hosts were not changed`},
		"restored-and-not-begun": {Hosts: []engine.HostReport{fine, {Host: "n1", OK: 9, Failed: 1, FailedStep: "pods leave the node", Failure: &engine.Failure{Message: "node n1 is not drained: timeout after 15m0s"}, Restored: &engine.RestoreResult{NotBegun: true}},
			{Host: "n2", OK: 9, Changed: 4, Failed: 1, FailedStep: "the kubelet renews its lease", Failure: &engine.Failure{Message: "kubelet.service restarts again and again"}, Restored: &engine.RestoreResult{Steps: 2}}},
			Aborted: `the rollout of "minion" has stopped`},
		"interrupted": {Hosts: []engine.HostReport{fine, {Host: "m2", OK: 3, Cancelled: true}}, Interrupted: true},
		"stopped":     {Hosts: []engine.HostReport{{Host: "m2", Cancelled: true}}, Interrupted: true, Aborted: "stopped by a second interrupt; steps in flight may be half done, and the next run repairs them"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			r.Elapsed = 83 * time.Second
			Summary(&out, "install", &r, "deployer install -i inventory.yaml")
			golden(t, "summary-"+name+".txt", out.String())
		})
	}
}
