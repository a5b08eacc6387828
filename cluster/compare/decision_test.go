package compare_test

import (
	"testing"

	"deployer/cluster/compare"
)

func TestDecide(t *testing.T) {
	older := []compare.Versioned{{Host: "n1", Component: "kubelet", Found: "v1.35.4", Wanted: "v1.36.3"}}
	newer := []compare.Versioned{{Host: "n1", Component: "kubelet", Found: "v1.36.3", Wanted: "v1.35.4"}}
	bad := []compare.Broken{{Host: "n1", Component: "node", Detail: "not Ready"}}
	for name, tc := range map[string]struct {
		result  compare.Result
		upgrade bool
		want    compare.Action
	}{
		"nothing is installed":        {compare.Result{State: compare.New}, false, compare.ActionInstall},
		"an unreachable master":       {compare.Result{State: compare.Unknown}, false, compare.ActionRefuse},
		"an interrupted restore":      {compare.Result{State: compare.Restoring}, true, compare.ActionRefuse},
		"quorum lost":                 {compare.Result{State: compare.QuorumLost}, false, compare.ActionRestore},
		"quorum lost, with --upgrade": {compare.Result{State: compare.QuorumLost, Older: older}, true, compare.ActionRestore},
		"no difference":               {compare.Result{State: compare.Running}, false, compare.ActionRepair},
		"a host joins":                {compare.Result{State: compare.Running, Joining: []string{"n2"}}, false, compare.ActionRepair},
		"down":                        {compare.Result{State: compare.Down}, false, compare.ActionStart},
		"a dead master":               {compare.Result{State: compare.Running, Broken: dead("m2")}, false, compare.ActionRefuse},
		"a dead minion":               {compare.Result{State: compare.Running, Broken: dead("n1")}, false, compare.ActionRepair},
		"broken":                      {compare.Result{State: compare.Running, Broken: bad}, true, compare.ActionRepair},
		"a node without a host":       {compare.Result{State: compare.Running, ExtraNodes: []string{"n2"}}, true, compare.ActionRefuse},
		"a member without a host":     {compare.Result{State: compare.Running, ExtraMembers: []string{"m2"}}, false, compare.ActionRefuse},
		"a node without a host, down": {compare.Result{State: compare.Down, ExtraMembers: []string{"m2"}}, false, compare.ActionStart},
		"newer":                       {compare.Result{State: compare.Running, Newer: newer}, true, compare.ActionRefuse},
		"older":                       {compare.Result{State: compare.Running, Older: older}, false, compare.ActionNothing},
		"older, with --upgrade":       {compare.Result{State: compare.Running, Older: older}, true, compare.ActionUpgrade},
		"older, and a host joins":     {compare.Result{State: compare.Running, Older: older, Joining: []string{"n2"}}, true, compare.ActionRefuse},
		"older, and other problems":   {compare.Result{State: compare.Running, Older: older, Problems: bad}, true, compare.ActionUpgrade},
		"older and broken":            {compare.Result{State: compare.Running, Older: older, Broken: bad}, true, compare.ActionRefuse},
		"older and down":              {compare.Result{State: compare.Down, Older: older}, true, compare.ActionStart},
	} {
		got := compare.Decide(tc.result, compare.Rules{Upgrade: tc.upgrade, Protected: []string{"m1", "m2", "m3"}})
		if got.Action != tc.want {
			t.Errorf("%s: %s (%s), not %s", name, got.Action, got.Reason, tc.want)
		}
	}
}

func dead(host string) []compare.Broken {
	return []compare.Broken{{Host: host, Component: "host", Detail: "connection refused"}}
}
