//go:build lab

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// badValues tests settings that pass every check before the run and break their
// component. Each reaches one node, is restored there, and changes no other node.
func badValues(t *testing.T, s *site) {
	all := []string{"m1", "m2", "m3", "n1", "n2"}
	for _, bad := range []struct {
		name string
		set  func(inv map[string]any)
		file string // that must be as before on all nodes
		unit string // whose process must be as before on all nodes but one
		step string // that fails
		says []string
	}{
		{
			name: "the kubelet ends two seconds after its start",
			set: func(inv map[string]any) {
				kubelet := section(inv, "cluster", "overrides", "kubelet")
				kubelet["enforceNodeAllocatable"] = []any{"pods", "system-reserved"}
				kubelet["systemReserved"] = map[string]any{"memory": "100Mi"}
				kubelet["systemReservedCgroup"] = "/no-such-group"
			},
			file: "/var/lib/kubelet/config.yaml", unit: "kubelet",
			step: "the kubelet renews the lease of its node", says: []string{"no-such-group"},
		},
		{
			name: "the kubelet does not start",
			set: func(inv map[string]any) {
				section(inv, "cluster", "overrides", "kubelet")["tlsCertFile"] = "/etc/kubernetes/no-such-file.crt"
			},
			file: "/var/lib/kubelet/config.yaml", unit: "kubelet",
			step: "kubelet runs", says: []string{"kubelet.service ended"},
		},
		{
			name: "containerd has no such runtime",
			set: func(inv map[string]any) {
				section(inv, "cluster", "overrides", "containerd", "containerd")["default_runtime_name"] = "nonsense"
			},
			file: "/etc/containerd/config.toml", unit: "containerd",
			step: "containerd runs a container", says: []string{"unknown service runtime.v1.RuntimeService"},
		},
	} {
		t.Run(bad.name, func(t *testing.T) {
			s := s.on(t)
			before, processes := s.digests(bad.file, all), map[string]string{}
			for _, n := range all {
				processes[n] = s.shell(n, "pidof "+bad.unit)
			}
			good, err := os.ReadFile(s.inventory)
			if err != nil {
				t.Fatal(err)
			}
			s.edit(bad.set)
			began := time.Now()
			o := s.deployer("install")
			if err := os.WriteFile(s.inventory, good, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Logf("tried, refused and restored in %.0fs", time.Since(began).Seconds())
			if o.code != 6 {
				t.Fatalf("exit %d, want 6\n%s", o.code, o.all())
			}
			s.requireTexts(o.all(), append(bad.says, fmt.Sprintf("at %q", bad.step), "it was restored", "4 other hosts were left as they are")...)
			if diff := cmp.Diff(before, s.digests(bad.file, all)); diff != "" {
				t.Errorf("%s (- before, + after): %s", bad.file, diff)
			}
			var touched []string
			for _, n := range all {
				if s.shell(n, "pidof "+bad.unit) != processes[n] {
					touched = append(touched, n)
				}
			}
			if len(touched) != 1 || !strings.HasPrefix(touched[0], "n") {
				t.Errorf("%s was restarted on %v, want one minion", bad.unit, touched)
			}
			s.allReady(all)
		})
	}
	t.Run("a value that the kubelet would refuse reaches no host", func(t *testing.T) {
		s := s.on(t)
		good, err := os.ReadFile(s.inventory)
		if err != nil {
			t.Fatal(err)
		}
		s.edit(func(inv map[string]any) {
			section(inv, "cluster", "overrides", "kubelet", "evictionHard")["memory.available"] = "bogus"
		})
		o := s.deployer("install")
		if err := os.WriteFile(s.inventory, good, 0o600); err != nil {
			t.Fatal(err)
		}
		if o.code != 2 {
			t.Errorf("exit %d, want 2", o.code)
		}
		s.requireTexts(o.all(), "cluster.overrides.kubelet.evictionHard.memory.available", `"bogus"`, "the kubelet would not start")
	})
	_, r := s.events(s.must("install", "--output", "json"))
	if r.changed() != 0 {
		t.Errorf("install without the bad values changed %d steps, want none", r.changed())
	}
}

// digests returns the digests of a file by host.
func (s *site) digests(file string, hosts []string) map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, h := range hosts {
		out[h] = s.shell(h, "sha256sum "+file+"; stat -c '%a %U %G' "+file)
	}
	return out
}

// allReady wants every node to be Ready, by a lease that is young: the condition
// outlives a dead kubelet by 50 s.
func (s *site) allReady(nodes []string) {
	s.t.Helper()
	s.eventually(30*time.Second, "all nodes are Ready and renew their leases", func() error {
		var bad []string
		for _, n := range nodes {
			ready := s.kubectl("m1", "get node "+n+` -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'`)
			renewed, err := time.Parse(time.RFC3339, s.kubectl("m1", "get lease -n kube-node-lease "+n+" -o 'jsonpath={.spec.renewTime}'"))
			if err != nil {
				return err
			}
			if age := time.Since(renewed); ready != "True" || age > 20*time.Second {
				bad = append(bad, fmt.Sprintf("%s: Ready %s, lease %s old", n, ready, age.Round(time.Second)))
			}
		}
		if len(bad) > 0 {
			return fmt.Errorf("%s", strings.Join(slices.Clip(bad), "; "))
		}
		return nil
	})
}
