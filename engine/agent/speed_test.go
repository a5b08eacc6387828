package agent

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

// BenchmarkSegment measures a segment of steps that find nothing to do.
func BenchmarkSegment(b *testing.B) {
	s := newTestHost(b, nil)
	content := bytes.Repeat([]byte("x"), 2000)
	if err := os.WriteFile(s.root+"/f", content, 0o600); err != nil {
		b.Fatal(err)
	}
	seg := engine.Segment{Run: "r1"}
	for i := range 50 {
		seg.Steps = append(seg.Steps, agenttest.Step(b, fmt.Sprint(i), "write", agenttest.Write{Path: "/f", Content: string(content)}))
	}
	for b.Loop() {
		if err := s.Run(b.Context(), seg, func(engine.Result) {}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/50, "µs/step")
}
