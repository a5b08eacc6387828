package operations

import (
	"testing"

	"deployer/engine"
)

// TestRollsBack checks which upgrades are taken back.
func TestRollsBack(t *testing.T) {
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
		if got := (UpgradeOptions{AutoRollback: true}).rollsBack(&c.report); got != c.want {
			t.Errorf("%s: %t, outcome %s", name, got, c.report.Outcome())
		}
		if (UpgradeOptions{}).rollsBack(&c.report) {
			t.Errorf("%s: taken back without the flag", name)
		}
	}
}
