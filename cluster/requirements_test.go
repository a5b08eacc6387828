package cluster_test

import (
	"testing"

	"deployer/cluster"
)

// TestAuditLogRequirement: masters need room for the whole audit log, other hosts none.
func TestAuditLogRequirement(t *testing.T) {
	t.Parallel()
	off := false
	for name, tt := range map[string]struct {
		audit cluster.AuditSpec
		want  int // MiB on masters; 0 for no requirement
	}{
		"default": {want: 1100},
		"bounds":  {cluster.AuditSpec{MaxBackups: 3, MaxSizeMiB: 50}, 200},
		"off":     {cluster.AuditSpec{Enabled: &off}, 0},
	} {
		c := mustResolve(t, cluster.Spec{API: cluster.APISpec{Audit: tt.audit}}, fleet(masters(1), minions(1)))
		for host, want := range map[string]int{"m1": tt.want, "n1": 0} {
			got := 0
			for _, r := range c.Nodes[host].Requirements {
				if r.Path == "/var/log/kubernetes/audit" {
					got = r.MinMiB
				}
			}
			if got != want {
				t.Errorf("%s: %s needs %d MiB for the audit log, want %d", name, host, got, want)
			}
		}
	}
}
