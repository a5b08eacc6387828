package main

import (
	"bytes"
	"strings"
	"testing"

	"deployer/operations"
)

// TestAutoRollback takes an upgrade back whose API server has another minor version,
// which requires the flag for lower minor versions.
func TestAutoRollback(t *testing.T) {
	for _, lower := range []bool{false, true} {
		s, id := newUpgradedSite(t)
		s.anotherMachine(nil) // the rollback reads the log of the upgrade from the hosts
		var out, complaint bytes.Buffer
		e := env{stdin: strings.NewReader(""), stdout: &out, stderr: &complaint}
		runner := newRunner(e)
		var flags runOptions
		flags.Inventory, flags.output = "inventory.yaml", "text"
		o := operations.UpgradeOptions{Options: flags.Options, AutoRollback: true, LowerMinor: lower}
		from := historyOptions{fromHosts: recordKeepers}
		from.Inventory = o.Inventory
		var err error
		if runner.History, err = from.open(t.Context(), runner, e, from.Upgrade(id)); err != nil {
			t.Fatal(err)
		}
		err = newConsole(e, flags, false).operator(runner).RollBackFailed(t.Context(), id, o)
		runner.History.Close()
		code, manifest := exitRestored, "v1.35.4"
		if !lower {
			code, manifest = exitFailed, "v1.36.3"
			requireTexts(t, err.Error(), "the upgrade is not rolled back", "kube-apiserver of n001: v1.36.3 to v1.35.4", "--lower-minor")
		}
		if text := "set the version that the cluster has"; strings.Contains(out.String(), text) {
			t.Errorf("lower %t: the inventory has the older version, and the output says: %s", lower, text)
		}
		if exitCode(err) != code || s.manifest() != manifest {
			t.Errorf("lower %t: exit code %d, want %d; the manifest is %s\n%s%s", lower, exitCode(err), code, s.manifest(), out.String(), complaint.String())
		}
	}
}
