package jsonappend

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// TestWeighIsWhatDecodingTakes: the estimate is not below the memory that decoding
// takes, for the most expensive shapes, and not far above it for typical data of
// hosts.
func TestWeighIsWhatDecodingTakes(t *testing.T) {
	list := func(element string, n int) string { return "[" + strings.Repeat(element+",", n) + element + "]" }
	for name, tt := range map[string]struct {
		text string
		most float64 // times what it takes
	}{
		"empty objects":  {list("{}", 300_000), 2},
		"small objects":  {list(`{"":0}`, 50_000), 2},
		"members":        {list(`{"name":"a","version":"1","arch":"amd64"}`, 30_000), 3},
		"numbers":        {list("0", 300_000), 4},
		"short texts":    {list(`"a"`, 300_000), 4},
		"empty lists":    {list("[]", 300_000), 4},
		"nested":         {list(strings.Repeat("[", 500)+strings.Repeat("]", 500), 500), 4},
		"one long text":  {`{"stdout":"` + strings.Repeat("x", 10<<20) + `"}`, 1.5},
		"quotes in text": {`{"stdout":"` + strings.Repeat(`\"{[,:`, 1<<20) + `"}`, 2},
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var v any
		if err := json.Unmarshal([]byte(tt.text), &v); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		takes := float64(after.HeapAlloc) - float64(before.HeapAlloc)
		runtime.KeepAlive(v)
		if got := float64(Weigh([]byte(tt.text))); got < takes*0.8 || got > takes*tt.most {
			t.Errorf("%s: estimated %.1f MB, takes %.1f MB", name, got/1e6, takes/1e6)
		}
	}
}
