package hostcheck

import (
	"strings"
	"testing"

	"deployer/tasks/tasktest"
)

// TestMinKernel: versions are compared as numbers, whatever follows them.
func TestMinKernel(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]bool{
		"5.13.0": true, "5.13": true, "6.1.0-31-amd64": true, "5.4.0-200-generic": false, "5.12.19": false, "4.18.0-553.el8.x86_64": false, "5.14.0-427.el9.x86_64": true,
	} {
		sys := tasktest.New(t)
		sys.Write(t, "/proc/sys/kernel/osrelease", release+"\n", 0o444)
		row := minKernel(sys, 5, 13)
		if row.OK != want || !strings.Contains(row.Detail, release) || !want && !strings.Contains(row.Fix, "iptables") {
			t.Errorf("%s: %+v", release, row)
		}
	}
	if row := minKernel(tasktest.New(t), 5, 13); row.OK {
		t.Errorf("without a version: %+v", row)
	}
}
