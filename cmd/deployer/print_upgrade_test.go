package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"deployer/operations"
	"deployer/project"
)

// TestRolloutPlanOfFlags: upgrade plan prints the steps of the file, and flags replace its
// limits.
func TestRolloutPlanOfFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"inventory.yaml": `
hosts: {m1: {address: 10.0.0.1}, "n[1:6]": {address: "10.0.0.[11:16]"}}
groups: {zone-a: {hosts: [n2, n3]}}
roles: {master: [m1], etcd: [m1], minion: ["n[1:6]"]}
cluster: {name: lab, kubernetes: v1.36.3}
`, "rollout.yaml": `
steps:
  - {name: pilot, hosts: n1}
  - parallel:
      - {hosts: zone-a, batch_size: 50%, max_fail: 1}
      - {hosts: [n5], batch_size: 1}
batch_size: 2
max_fail: 3
`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, err := project.LoadCluster("inventory.yaml", project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var o upgradeFlagValues
	cmd := &cobra.Command{}
	upgradeFlags(cmd, &o)
	if err := cmd.Flags().Parse([]string{"--rollout", "rollout.yaml", "--batch-size", "4", "--max-unavailable", "rack=1"}); err != nil {
		t.Fatal(err)
	}
	with, err := o.operation(cmd.Flags())
	if err != nil {
		t.Fatal(err)
	}
	if with.BatchSize.String() != "4" || with.MaxFail.String() != "3" || len(with.MaxUnavailable) != 1 {
		t.Errorf("the options are %+v", with)
	}
	steps, err := with.Rollout.Resolve(p)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	printSteps(&out, p.Cluster, steps)
	text := "     step 1, pilot: n1\n     step 2: n[2:3], at most 1 at a time, 1 may fail\n     beside it: n5, at most 1 at a time\n     then the others: n4, n6\n"
	if diff := cmp.Diff(text, out.String()); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

// TestUpgradeDefaults: an upgrade of CI, which has no flags, is one of the command line without
// any.
func TestUpgradeDefaults(t *testing.T) {
	var o upgradeFlagValues
	cmd := &cobra.Command{}
	upgradeFlags(cmd, &o)
	with, err := o.operation(cmd.Flags())
	if err != nil {
		t.Fatal(err)
	}
	got, err := with.RunOptions()
	if err != nil {
		t.Fatal(err)
	}
	want, err := operations.DefaultUpgrade().RunOptions()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Extra, got.Extra); diff != "" {
		t.Error(diff)
	}
}
