package agent

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/protocol"
	"deployer/engine/protocol/codec"
)

// sentResults returns the steps in each frame that an outbox has sent.
func sentResults(t *testing.T, sent *bytes.Buffer) []string {
	t.Helper()
	var out []string
	conn := protocol.NewConn(sent, nil, protocol.ControllerEnd)
	for {
		f, err := conn.Receive()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil || f.Type != protocol.Result || f.ID != 7 {
			t.Fatalf("%+v, %v", f, err)
		}
		var results []engine.Result
		if err := codec.ReadResults(f.Payload, func(r engine.Result) error {
			results = append(results, r)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		out = append(out, statuses(results))
	}
}

func TestResultsTravelTogether(t *testing.T) {
	long := strings.Repeat("x", outboxSize)
	for name, tt := range map[string]struct {
		ago    time.Duration // time since the begin of the first step
		reason string        // reason of the second result
		before []string      // frames before the flush
		after  []string      // frames of the flush
	}{
		"quick results wait for the flush":          {after: []string{"a=ok b=ok c=ok"}},
		"a large result sends the batch":            {reason: long, before: []string{"a=ok b=ok"}, after: []string{"c=ok"}},
		"an old batch is sent with the next result": {ago: startDelay, before: []string{"a=ok"}, after: []string{"b=ok c=ok"}},
	} {
		t.Run(name, func(t *testing.T) {
			var sent bytes.Buffer
			o := &outbox{conn: protocol.NewConn(strings.NewReader(""), &sent, protocol.AgentEnd), segment: 7}
			results := []engine.Result{{Step: "a", Status: engine.StatusOK, Started: time.Now().Add(-tt.ago)},
				{Step: "b", Status: engine.StatusOK, Started: time.Now(), Reason: tt.reason}, {Step: "c", Status: engine.StatusOK, Started: time.Now()}}
			for i := range results {
				if err := o.add(&results[i]); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tt.before, sentResults(t, &sent)); diff != "" {
				t.Error(diff)
			}
			if err := o.flush(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.after, sentResults(t, &sent)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestResultsDoNotWaitForASlowStep: results are sent before a long step has ended.
func TestResultsDoNotWaitForASlowStep(t *testing.T) {
	b := newTestHost(t, nil)
	var came []time.Time
	steps := []engine.Step{agenttest.Step(t, "quick", "odd", agenttest.Odd{Do: "nothing"}),
		agenttest.Step(t, "slow", "odd", agenttest.Odd{Do: "run", Text: "sleep 1"})}
	err := b.Run(t.Context(), engine.Segment{Run: "r1", Steps: steps}, func(engine.Result) { came = append(came, time.Now()) })
	if err != nil || len(came) != 2 || came[1].Sub(came[0]) < 500*time.Millisecond {
		t.Errorf("%v, results at %v", err, came)
	}
}
