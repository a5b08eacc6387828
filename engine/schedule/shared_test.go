package schedule

import (
	"reflect"
	"runtime"
	"testing"
)

func TestSharedVariablesAreSharedAndOwnOnesAreNot(t *testing.T) {
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
			runtime.GC() // addresses of maps that are gone may come again
		}
	}
	if got := first.(map[string]any)["h1"].(map[string]any)["port"]; got != 6443 {
		t.Errorf("port is %v (%T)", got, got)
	}
}
