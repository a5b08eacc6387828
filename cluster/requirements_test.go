package cluster_test

import (
	"slices"
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

// TestNameServerRequirements: every node needs the file of name servers that its kubelet reads,
// and a server in it that pods reach, unless cluster DNS has servers of its own.
func TestNameServerRequirements(t *testing.T) {
	t.Parallel()
	own := func(path string) map[string]any {
		return map[string]any{"kubelet": map[string]any{"resolvConf": path}}
	}
	upstreams := cluster.DNSSpec{Upstreams: []string{"192.0.2.1"}}
	for name, tt := range map[string]struct {
		spec       cluster.Spec
		kind, path string
	}{
		"default":           {cluster.Spec{}, cluster.RequireServers, ""},
		"upstreams":         {cluster.Spec{DNS: upstreams}, cluster.RequireResolv, ""},
		"own file":          {cluster.Spec{Overrides: own("/etc/own.conf")}, cluster.RequireResolv, "/etc/own.conf"},
		"no file is wanted": {cluster.Spec{Overrides: own("")}, "", ""},
	} {
		c := mustResolve(t, tt.spec, fleet(masters(1), minions(1)))
		kind, path := "", ""
		for _, r := range c.Nodes["n1"].Requirements {
			if r.Kind == cluster.RequireServers || r.Kind == cluster.RequireResolv {
				kind, path = r.Kind, r.Path
			}
		}
		if kind != tt.kind || path != tt.path {
			t.Errorf("%s: requirement %q of %q", name, kind, path)
		}
	}
}

// TestKernelOfServices: only kube-proxy in mode nftables needs a newer kernel.
func TestKernelOfServices(t *testing.T) {
	for mode, want := range map[string]bool{"": false, "iptables": false, "nftables": true} {
		c := mustResolve(t, cluster.Spec{KubeProxy: cluster.KubeProxySpec{Mode: mode}}, masters(1))
		if got := slices.ContainsFunc(c.Nodes["m1"].Requirements, func(r cluster.Requirement) bool { return r.Name == "nftables_services" }); got != want {
			t.Errorf("mode %q: a newer kernel is required: %v", mode, got)
		}
	}
}
