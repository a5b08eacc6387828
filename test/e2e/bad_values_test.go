//go:build lab

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
)

// badValues tests settings that pass every check before the run and break their
// component. Each reaches one node, is restored there, and changes no other node.
func badValues(t *testing.T, s *site) {
	all, masters := []string{"m1", "m2", "m3", "n1", "n2"}, []string{"m1", "m2", "m3"}
	for _, bad := range []struct {
		name string
		set  func(inv map[string]any)
		on   []string // nodes that have the unit
		file string   // file that must be unchanged on all of them
		unit string   // unit whose process may have restarted on one of them only
		step string   // step that fails
		says []string
	}{
		{
			name: "the kubelet ends two seconds after its start",
			set: func(inv map[string]any) {
				kubelet := harness.Section(inv, "cluster", "overrides", "kubelet")
				kubelet["enforceNodeAllocatable"] = []any{"pods", "system-reserved"}
				kubelet["systemReserved"] = map[string]any{"memory": "100Mi"}
				kubelet["systemReservedCgroup"] = "/no-such-group"
			},
			on: all, file: "/var/lib/kubelet/config.yaml", unit: "kubelet",
			step: "the kubelet renews the lease of its node", says: []string{"no-such-group"},
		},
		{
			name: "the kubelet does not start",
			set: func(inv map[string]any) {
				harness.Section(inv, "cluster", "overrides", "kubelet")["tlsCertFile"] = "/etc/kubernetes/no-such-file.crt"
			},
			on: all, file: "/var/lib/kubelet/config.yaml", unit: "kubelet",
			step: "kubelet runs", says: []string{"kubelet.service ended"},
		},
		{
			name: "containerd has no such runtime",
			set: func(inv map[string]any) {
				harness.Section(inv, "cluster", "overrides", "containerd", "containerd")["default_runtime_name"] = "nonsense"
			},
			on: all, file: "/etc/containerd/config.toml", unit: "containerd",
			step: "containerd runs a container", says: []string{"unknown service runtime.v1.RuntimeService"},
		},
		{
			// Each value is valid by itself, but etcd requires an election timeout of
			// at least five heartbeats.
			name: "etcd does not start",
			set: func(inv map[string]any) {
				harness.Section(inv, "cluster", "overrides", "etcd", "extra_args")["election-timeout"] = "300"
			},
			on: masters, file: "/etc/systemd/system/etcd.service", unit: "etcd",
			step: "etcd runs", says: []string{"etcd.service ended", "election-timeout"},
		},
	} {
		t.Run(bad.name, func(t *testing.T) {
			s := s.on(t)
			before, processes := s.Digests(bad.file, bad.on), map[string]string{}
			for _, n := range bad.on {
				processes[n] = s.Shell(n, "pidof "+bad.unit)
			}
			good, err := os.ReadFile(s.Inventory)
			if err != nil {
				t.Fatal(err)
			}
			s.Edit(bad.set)
			began := time.Now()
			o := s.Deployer("install")
			if err := os.WriteFile(s.Inventory, good, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Logf("tried, refused and restored in %.0fs", time.Since(began).Seconds())
			if o.Code != 6 {
				t.Fatalf("exit %d, want 6\n%s", o.Code, o.All())
			}
			s.RequireTexts(o.All(), append(bad.says, fmt.Sprintf("at %q", bad.step), "it was restored", fmt.Sprintf("%d other hosts were not changed", len(bad.on)-1))...)
			if diff := cmp.Diff(before, s.Digests(bad.file, bad.on)); diff != "" {
				t.Errorf("%s (- before, + after): %s", bad.file, diff)
			}
			var touched []string
			for _, n := range bad.on {
				if s.Shell(n, "pidof "+bad.unit) != processes[n] {
					touched = append(touched, n)
				}
			}
			if canaries := bad.on[len(bad.on)-1][:1]; len(touched) != 1 || !strings.HasPrefix(touched[0], canaries) {
				t.Errorf("%s was restarted on %v, want one of %s*", bad.unit, touched, canaries)
			}
			s.Must("etcd", "status") // exit code 5 where a member does not serve
			s.RequireReady(all)
		})
	}
	t.Run("a value that the kubelet would refuse reaches no host", func(t *testing.T) {
		s := s.on(t)
		good, err := os.ReadFile(s.Inventory)
		if err != nil {
			t.Fatal(err)
		}
		s.Edit(func(inv map[string]any) {
			harness.Section(inv, "cluster", "overrides", "kubelet", "evictionHard")["memory.available"] = "bogus"
		})
		o := s.Deployer("install")
		if err := os.WriteFile(s.Inventory, good, 0o600); err != nil {
			t.Fatal(err)
		}
		if o.Code != 2 {
			t.Errorf("exit %d, want 2", o.Code)
		}
		s.RequireTexts(o.All(), "cluster.overrides.kubelet.evictionHard.memory.available", `"bogus"`, "the kubelet would not start")
	})
	_, r := s.Events(s.Must("install", "--output", "json"))
	if r.Changed() != 0 {
		t.Errorf("install without the bad values changed %d steps, want none", r.Changed())
	}
}
