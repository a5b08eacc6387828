//go:build lab

package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
)

// badValue is a setting that passes every check before the run and breaks its component.
type badValue struct {
	name string
	set  func(inv map[string]any)
	on   []string // nodes that have the file
	file string   // file that must be unchanged on all of them
	unit string   // program whose process may have restarted on one of them only; empty: the file is compared
	step string   // step that fails
	says []string
}

// badValues tests settings that pass every check before the run and break their
// component. Each reaches one node, is restored there, and changes no other node.
func badValues(t *testing.T, s *site) {
	all, masters := []string{"m1", "m2", "m3", "n1", "n2"}, []string{"m1", "m2", "m3"}
	for _, bad := range []badValue{
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
		t.Run(bad.name, func(t *testing.T) { s.on(t).stopsAtOneNode(bad) })
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

// stopsAtOneNode installs with a bad value: it reaches one node, is restored there, and
// changes no other node.
func (s *site) stopsAtOneNode(bad badValue) {
	s.T.Helper()
	before, stamps := s.Digests(bad.file, bad.on), s.marks(bad)
	good, err := os.ReadFile(s.Inventory)
	if err != nil {
		s.T.Fatal(err)
	}
	s.Edit(bad.set)
	began := time.Now()
	o := s.Deployer("install")
	if err := os.WriteFile(s.Inventory, good, 0o600); err != nil {
		s.T.Fatal(err)
	}
	s.T.Logf("tried, refused and restored in %.0fs", time.Since(began).Seconds())
	if o.Code != 6 {
		s.T.Fatalf("exit %d, want 6\n%s", o.Code, o.All())
	}
	untouched := fmt.Sprintf("%d other hosts were not changed", len(bad.on)-1)
	if len(bad.on) == 2 {
		untouched = "1 other host was not changed by it"
	}
	s.RequireTexts(o.All(), append(bad.says, fmt.Sprintf("at %q", bad.step), "it was restored", untouched)...)
	if diff := cmp.Diff(before, s.Digests(bad.file, bad.on)); diff != "" {
		s.T.Errorf("%s (- before, + after): %s", bad.file, diff)
	}
	what, canaries := bad.unit, bad.on[len(bad.on)-1][:1]
	if what == "" {
		what = bad.file
	}
	if touched := s.changed(stamps, s.marks(bad)); len(touched) != 1 || !strings.HasPrefix(touched[0], canaries) {
		s.T.Errorf("%s changed on %v, want one of %s*", what, touched, canaries)
	}
	s.Must("etcd", "status") // exit code 5 where a member does not serve
	s.RequireReady(bad.on)
}

// marks returns for each node a text that changes when the value has reached it.
func (s *site) marks(bad badValue) map[string]string {
	s.T.Helper()
	if bad.unit == "" {
		return s.stamps(bad.file, bad.on)
	}
	out := map[string]string{}
	for _, n := range bad.on {
		out[n] = s.Shell(n, "pidof "+bad.unit)
	}
	return out
}

// stamps returns for each node a text that changes when the file is written, also with the
// same content.
func (s *site) stamps(file string, on []string) map[string]string {
	s.T.Helper()
	out := map[string]string{}
	for _, n := range on {
		out[n] = s.Shell(n, "stat -c '%i %z' "+file)
	}
	return out
}

// changed returns the nodes whose texts differ.
func (s *site) changed(before, after map[string]string) []string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(before)) {
		if before[n] != after[n] {
			out = append(out, n)
		}
	}
	return out
}
