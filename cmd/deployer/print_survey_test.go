package main

import (
	"errors"
	"strings"
	"testing"

	"deployer/cluster/compare"
)

func TestPrintSurvey(t *testing.T) {
	var b strings.Builder
	printSurvey(&b, "prod", compare.Result{
		State:      compare.Running,
		Joining:    []string{"n3", "n4"},
		ExtraNodes: []string{"old"},
		Cordoned:   []string{"n1"},

		LeftCordoned: []compare.LeftCordoned{{Host: "n2", Run: "r1"}, {Host: "n4", Run: "r2"}, {Host: "n3", Run: "r1"}},
		Older: []compare.Versioned{
			{Host: "n1", Component: "kubelet", Found: "v1.35.4", Wanted: "v1.36.3"},
			{Host: "n2", Component: "kubelet", Found: "v1.35.4", Wanted: "v1.36.3"},
		},
		Broken:       []compare.Broken{{Host: "m2", Component: "etcd", Detail: "its member\ndoes not serve", Fix: "look at journalctl -u etcd"}},
		Problems:     []compare.Broken{{Component: "webhook x", Detail: "its Service a/b does not exist", Fix: "kubectl delete"}, {Host: "n1", Component: "CNI configuration", Detail: "x sorts before y"}},
		Replacements: []compare.Replacement{{Host: "m2"}, {Host: "m1", Blocked: "without it 1 of 3 members serve, and a majority is 2"}},
	})
	want := `cluster prod: running
  to join: n[3:4]
  nodes that the inventory does not name: old
  cordoned: n1
  cordoned by run r1 of deployer, which has not uncordoned them: n[2:3]
  cordoned by run r2 of deployer, which has not uncordoned them: n4
  older than the inventory says: kubelet v1.35.4, wanted v1.36.3: n[1:2]
    to upgrade: deployer apply --upgrade, or deployer upgrade with its options
  broken:
    m2  etcd  its member does not serve; look at journalctl -u etcd
  problems that no run repairs:
    cluster  webhook x          its Service a/b does not exist; kubectl delete
    n1       CNI configuration  x sorts before y
  machines that may be replaced, one at a time in this order: m2
  m1 must not be replaced now: without it 1 of 3 members serve, and a majority is 2

`
	if b.String() != want {
		t.Errorf("printed\n%s", b.String())
	}
}

// TestRemainingProblems: a cluster without differences whose survey has found problems is not
// reported as equal.
func TestRemainingProblems(t *testing.T) {
	c := &reconciliation{}
	if err := c.remaining(); err != nil {
		t.Errorf("no problem: %v", err)
	}
	c.found.Problems = []compare.Broken{{Component: "webhook x"}}
	c.found.Broken = []compare.Broken{{Host: "n1", Component: "kube-proxy"}}
	if err := c.remaining(); exitCode(err) != exitUnhealthy || !strings.Contains(err.Error(), "2 problems") {
		t.Errorf("error %v", err)
	}
}

func TestDetailedExitCodeOfApply(t *testing.T) {
	for _, tc := range []struct {
		err      error
		detailed bool
		want     int
	}{
		{nil, true, 0},
		{errDiffers, false, 0},
		{errDiffers, true, 2},
		{usageError(errWrongInput), false, 2},
		{usageError(errWrongInput), true, 1},
		{exitSilently(exitRefused), true, 4},
	} {
		o := applyOptions{detailedExitCode: tc.detailed}
		if got := exitCode(o.exitCode(tc.err)); got != tc.want {
			t.Errorf("%v, detailed %v: exit code %d, not %d", tc.err, tc.detailed, got, tc.want)
		}
	}
}

var errWrongInput = errors.New("unknown flag")

// TestCodesOfDecisions checks the exit codes of decisions that change nothing.
func TestCodesOfDecisions(t *testing.T) {
	for action, want := range map[compare.Action]int{
		compare.ActionRestore: exitQuorumLost,
		compare.ActionRefuse:  exitRefused,
		compare.ActionNothing: exitOK,
	} {
		c := &reconciliation{}
		err := c.exitCode(c.carryOut(t.Context(), compare.Decision{Action: action, Reason: "two members have lost their data"}))
		if got := exitCode(err); got != want {
			t.Errorf("%s: exit code %d, not %d", action, got, want)
		}
		if err != nil && !strings.Contains(err.Error(), "nothing was changed: two members") {
			t.Errorf("%s: %v", action, err)
		}
	}
}
