package operations

import (
	"errors"
	"strings"
	"testing"

	"deployer/cluster/compare"
)

// TestRemainingProblems: a cluster without differences whose survey has found problems is not
// reported as equal.
func TestRemainingProblems(t *testing.T) {
	a := &application{}
	if err := a.problems(); err != nil {
		t.Errorf("no problem: %v", err)
	}
	a.found.Problems = []compare.Broken{{Component: "webhook x"}}
	a.found.Broken = []compare.Broken{{Host: "n1", Component: "kube-proxy"}}
	if err := a.problems(); !EndedAs(err, Unhealthy) || !strings.Contains(err.Error(), "2 problems") {
		t.Errorf("error %v", err)
	}
}

// TestEndsOfDecisions checks how an apply ends whose decision changes nothing.
func TestEndsOfDecisions(t *testing.T) {
	for action, want := range map[compare.Action]End{compare.ActionRestore: QuorumLost, compare.ActionRefuse: Refused} {
		a := &application{}
		_, err := a.carryOut(t.Context(), compare.Decision{Action: action, Reason: "two members have lost their data"})
		var end *Ended
		if !errors.As(err, &end) || end.End != want || !strings.Contains(err.Error(), "nothing was changed: two members") {
			t.Errorf("%s: %v", action, err)
		}
	}
	a := &application{}
	if differed, err := a.carryOut(t.Context(), compare.Decision{Action: compare.ActionNothing}); !differed || err != nil {
		t.Errorf("%s: differed %t, %v", compare.ActionNothing, differed, err)
	}
}
