package etcd

import (
	"fmt"
	"testing"
)

// TestEachValueReadsAllInPages reads more values than an answer holds, from members that
// break connections.
func TestEachValueReadsAllInPages(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	for i := range 11 {
		f.values = append(f.values, Pair{fmt.Sprintf("/registry/secrets/default/s%02d", i), []byte{byte(i)}})
	}
	s := run(t, f, "m1", nil)
	n := 0
	err := EachValue(t.Context(), s, func(key string, value []byte) {
		if key != f.values[n].Key || value[0] != byte(n) {
			t.Errorf("value %d is %s=%v", n, key, value)
		}
		n++
	})
	if err != nil || n != len(f.values) {
		t.Errorf("%d values of %d, error %v", n, len(f.values), err)
	}
}
