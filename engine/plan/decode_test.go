package plan

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// TestDecodeUntrusted checks that a plan of a host is decoded as another one, but without
// control characters, and with the exactness that follows from its changes.
func TestDecodeUntrusted(t *testing.T) {
	c := NewCollector()
	for _, e := range []engine.Event{
		did("a", "1", of(engine.EffectCommand, "make\nall")), did("a", "2", file("/x", "replace")), did("b", "2", file("/x", "replace")),
	} {
		c.Emit(e)
	}
	want := c.Plan([]string{"a", "b"})
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeUntrusted("p", text)
	if err != nil {
		t.Fatal(err)
	}
	want.LeftOut = nil // empty
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	forged, first := *want, 0
	forged.Hosts = []Host{{Name: "a", Changes: []int{0, 1}}, {Name: "b", Changes: []int{1}, Inexact: map[int]int{1: 1}, UnboundedFrom: &first}}
	forged.LeftOut = map[string]string{"c\nROW": "why\nROW"}
	if text, err = json.Marshal(forged); err != nil {
		t.Fatal(err)
	}
	if got, err = DecodeUntrusted("p", text); err != nil {
		t.Fatal(err)
	}
	want.LeftOut = map[string]string{"c ROW": "why ROW"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("forged: %s", diff)
	}
}

// TestDecodeUntrustedIsBounded checks that small plans which would take much memory or time are
// refused soon.
func TestDecodeUntrustedIsBounded(t *testing.T) {
	effect := file("/x", "replace")
	change := fmt.Sprintf(`{"step":"1","name":"n","effects":[{"kind":"file","target":"/x","action":"replace","diff":"+replace"}],"fingerprints":["%s"]}`, effect.Fingerprint())
	list := func(element string, n int) string { return "[" + strings.Repeat(element+",", n) + element + "]" }
	for name, tt := range map[string]struct{ text, want string }{
		"empty changes":   {`{"format":1,"changes":` + list("{}", 4_000_000) + `}`, "MiB of memory"},
		"nested values":   {`{"format":1,"call":{"extra":{"x":` + list("{}", 4_000_000) + `}}}`, "MiB of memory"},
		"many on a host":  {`{"format":1,"changes":[` + change + `],"hosts":[{"name":"a","changes":` + list("0", 300_000) + `}]}`, "pairs"},
		"long names":      {`{"format":1,"changes":[{"step":"1","name":"` + strings.Repeat("x", 1<<20) + `","unknown":"u"}],"hosts":` + list(`{"name":"a","changes":[0]}`, 1000) + `}`, "MiB of text"},
		"no plan":         {`{"format":1} {"format":1}`, "more than one value"},
		"unknown members": {`{"format":1,"more":1}`, "unknown field"},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		began := time.Now()
		_, err := DecodeUntrusted("p", []byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		runtime.ReadMemStats(&after)
		if took := time.Since(began); took > 10*time.Second || (after.TotalAlloc-before.TotalAlloc)>>20 > 600 {
			t.Errorf("%s: %v, %d MiB were allocated", name, took, (after.TotalAlloc-before.TotalAlloc)>>20)
		}
	}
}
