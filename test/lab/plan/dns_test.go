package plan_test

import (
	"slices"
	"testing"

	"deployer/test/lab/plan"
)

func TestDNSAnswersForTheHostsAndListensOnlyInTheLab(t *testing.T) {
	argv := plan.DNS(layout(t, plan.Spec{Name: "x", Masters: 1, Minions: 1}))
	for _, want := range []string{
		"--listen-address=172.31.0.1", "--listen-address=fd00:172:31::1", "--bind-interfaces", "--no-resolv",
		"--host-record=m1.lab.test,172.31.0.11", "--host-record=n1.lab.test,172.31.0.12",
	} {
		if !slices.Contains(argv, want) {
			t.Errorf("no %s in %q", want, argv)
		}
	}
}
