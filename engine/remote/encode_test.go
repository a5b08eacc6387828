package remote

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

func TestEncodeSegment(t *testing.T) {
	full := engine.Step{ID: "3#1", Name: "a \"name\" <é>", Module: "file", Args: json.RawMessage(`{"Path":"/x","Content":"<\n\u00e9>"}`),
		OnChange: []string{"1", "2"}, IgnoreErrors: true, Retries: 3, Delay: time.Second, Timeout: time.Minute, Secret: true}
	for name, seg := range map[string]engine.Segment{
		"nothing":   {Run: "r1", Steps: []engine.Step{}},
		"one":       {Run: "r1", Steps: []engine.Step{{ID: "1", Args: json.RawMessage("{}")}}},
		"check":     {Run: "r1", Check: true, Steps: []engine.Step{full, {ID: "4", Args: json.RawMessage(`[1]`)}, full}},
		"beside":    {Run: "r1", Beside: true, Steps: []engine.Step{full}},
		"arguments": {Run: "r \"1\"", Steps: []engine.Step{{ID: "1", Args: json.RawMessage("null")}}},
	} {
		data, err := encodeSegment(seg)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got engine.Segment
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("%s: %v in %s", name, err, data)
		}
		if diff := cmp.Diff(seg, got); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", name, diff)
		}
	}
	none, err := encodeSegment(engine.Segment{Steps: []engine.Step{{ID: "1"}}})
	if err != nil || !json.Valid(none) {
		t.Errorf("a step without arguments: %v in %s", err, none)
	}
}

// segmentOf is a segment of common size.
func segmentOf(steps int) engine.Segment {
	seg := engine.Segment{Run: "20261121-220000.000"}
	args, _ := json.Marshal(map[string]string{"Path": "/etc/some/file", "Content": string(make([]byte, 600)), "Mode": "0644"})
	for range steps {
		seg.Steps = append(seg.Steps, engine.Step{ID: "p1.t27", Name: "main configuration", Module: "file", Args: args})
	}
	return seg
}

func BenchmarkEncodeSegment(b *testing.B) {
	seg := segmentOf(30)
	for name, encode := range map[string]func(engine.Segment) ([]byte, error){
		"own": encodeSegment, "json": func(s engine.Segment) ([]byte, error) { return json.Marshal(s) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := encode(seg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
