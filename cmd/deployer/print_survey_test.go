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

func TestDetailedExitCodeOfApply(t *testing.T) {
	for _, tc := range []struct {
		err                error
		differed, detailed bool
		want               int
	}{
		{nil, false, true, 0},
		{nil, true, false, 0},
		{nil, true, true, 2},
		{usageError(errWrongInput), false, false, 2},
		{usageError(errWrongInput), false, true, 1},
		{exitSilently(exitRefused), true, true, 4},
	} {
		o := applyOptions{detailedExitCode: tc.detailed}
		if got := exitCode(o.exitCode(tc.differed, tc.err)); got != tc.want {
			t.Errorf("%v, detailed %v: exit code %d, not %d", tc.err, tc.detailed, got, tc.want)
		}
	}
}

var errWrongInput = errors.New("unknown flag")
