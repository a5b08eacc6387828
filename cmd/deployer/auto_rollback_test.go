package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"deployer/engine"
)

// TestAutoRollbackAfter checks which upgrades are taken back.
func TestAutoRollbackAfter(t *testing.T) {
	changed := engine.HostReport{Host: "n1", Changed: 1}
	failed := engine.HostReport{Host: "n2", Failure: &engine.Failure{Message: "no"}}
	for name, c := range map[string]struct {
		report engine.Report
		want   bool
	}{
		"aborted because of failed hosts": {engine.Report{Hosts: []engine.HostReport{changed, failed}, Aborted: "more failures than max_fail"}, true},
		"nothing was changed":             {engine.Report{Hosts: []engine.HostReport{failed}, Aborted: "more failures than max_fail"}, false},
		"within max_fail":                 {engine.Report{Hosts: []engine.HostReport{changed, failed}}, false},
		"success":                         {engine.Report{Hosts: []engine.HostReport{changed}}, false},
		"interrupted":                     {engine.Report{Hosts: []engine.HostReport{changed}, Aborted: "interrupted", Interrupted: true}, false},
		"check mode":                      {engine.Report{Hosts: []engine.HostReport{changed, failed}, Aborted: "more failures than max_fail", Check: true}, false},
	} {
		if got := (autoRollback{enabled: true}).after(&c.report); got != c.want {
			t.Errorf("%s: %t, outcome %s", name, got, c.report.Outcome())
		}
		if (autoRollback{}).after(&c.report) {
			t.Errorf("%s: taken back without the flag", name)
		}
	}
}

// TestAutoRollback takes an upgrade back whose API server has another minor version,
// which requires the flag for lower minor versions.
func TestAutoRollback(t *testing.T) {
	for _, lower := range []bool{false, true} {
		s, id := newUpgradedSite(t)
		s.anotherMachine(nil) // the rollback reads the log of the upgrade from the hosts
		var out, complaint bytes.Buffer
		e := env{stdin: strings.NewReader(""), stdout: &out, stderr: &complaint}
		runner := newRunner(e)
		o := upgradeOptions{autoRollback: autoRollback{enabled: true, lowerMinor: lower}}
		o.Inventory, o.output = "inventory.yaml", "text"
		from := historyOptions{fromHosts: recordKeepers}
		from.Inventory = o.Inventory
		var err error
		if runner.History, err = from.open(t.Context(), runner, e, from.hasUpgrade([]string{id}), selectUpgrade([]string{id}, o.Inventory)); err != nil {
			t.Fatal(err)
		}
		err = rollBackUpgrade(t.Context(), e, runner, id, o)
		runner.History.Close()
		var exit *exitError
		if !errors.As(err, &exit) {
			t.Fatalf("lower %t: %v", lower, err)
		}
		code, manifest := exitRestored, "v1.35.4"
		if !lower {
			code, manifest = exitFailed, "v1.36.3"
			requireTexts(t, err.Error(), "the upgrade is not rolled back", "kube-apiserver of n001: v1.36.3 to v1.35.4", "--lower-minor")
		}
		if text := "set the version that the cluster has"; strings.Contains(out.String(), text) {
			t.Errorf("lower %t: the inventory has the older version, and the output says: %s", lower, text)
		}
		if exit.code != code || s.manifest() != manifest {
			t.Errorf("lower %t: exit code %d, want %d; the manifest is %s\n%s%s", lower, exit.code, code, s.manifest(), out.String(), complaint.String())
		}
	}
}
