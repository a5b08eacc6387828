package schedule

import (
	"reflect"
	"runtime"
	"slices"
	"testing"
)

func TestSharedVariables(t *testing.T) {
	var n normalizer
	hosts := map[string]any{"h1": map[string]any{"port": 6443.0}}
	var first any
	for i := range 500 {
		own := map[string]any{"number": float64(i)}
		out := n.normalize(map[string]any{"hosts": hosts, "own": own})
		if got := out["own"].(map[string]any)["number"]; got != i {
			t.Fatalf("host %d sees the variables of host %v", i, got)
		}
		if first == nil {
			first = out["hosts"]
		}
		if reflect.ValueOf(first).Pointer() != reflect.ValueOf(out["hosts"]).Pointer() {
			t.Fatal("a shared map was copied")
		}
		if i%50 == 0 {
			runtime.GC() // addresses of collected maps may be used again
		}
	}
	if got := first.(map[string]any)["h1"].(map[string]any)["port"]; got != 6443 {
		t.Errorf("port is %v (%T)", got, got)
	}
}

// TestPreparedArgumentsAreCached: a file is read once for all hosts, unless a part of
// the task differs between them.
func TestPreparedArgumentsAreCached(t *testing.T) {
	for args, want := range map[string]struct {
		prepared int
		second   string // the content on the second host
	}{
		"{src: f}":                                {1, "file"},
		"{src: f, named: true}":                   {5, "fileh2"},
		"{src: \"{{ trunc(1, host.name) }}\"}":    {5, "of h"},
		"{src: \"{{ item }}\"}, loop: [f]":        {5, "file"},
		"{src: f}, loop: [1, 2]":                  {1, "file"},
		"{src: f}, when: host.name != \"nobody\"": {1, "file"},
	} {
		s := of(5)
		s.files = []string{"files/f", "file", "files/h", "of h"}
		report := s.run(t, t.Context(), "- hosts: all\n  tasks:\n    - throttle: 1\n      block: [{name: x, src: "+args+"}]\n")
		if len(report.Broken()) > 0 {
			t.Fatalf("%s: %+v", args, report.Broken())
		}
		if s.fleet.prepared != want.prepared || !slices.Contains(s.fleet.of("h2"), "x "+want.second) {
			t.Errorf("%s: prepared %d times, want %d; the second host got %q", args, s.fleet.prepared, want.prepared, s.fleet.of("h2"))
		}
	}
}
