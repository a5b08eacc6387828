package remote

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/protocol"
)

// order records deliveries in their order.
type order []string

func (o *order) Emit(e engine.Event) { *o = append(*o, string(e.Type)+" "+e.Step) }

// TestOrderOfWhatAHostSays: Run and the sink both see the start of a step after the
// end of the step before it, however many messages arrive at once.
func TestOrderOfWhatAHostSays(t *testing.T) {
	var seen order
	s := &Session{opts: Options{Host: "m1", Sink: &seen}, segments: map[uint32]*segment{}, ctx: t.Context(),
		results: budget{limit: maxWaiting}, texts: budget{limit: maxWaitingText}}
	seg := &segment{steps: []engine.Step{{ID: "1"}, {ID: "2"}, {ID: "3"}}, wakeup: make(chan struct{}, 1), abandoned: make(chan struct{})}
	s.segments[1] = seg
	for _, frame := range []protocol.Frame{
		agenttest.Frame(protocol.StepStart, 1, protocol.StepMessage{Step: "1"}),
		agenttest.Frame(protocol.Progress, 1, protocol.StepMessage{Step: "1", Text: "goes on"}),
		agenttest.Results(1, engine.Result{Step: "1", Status: engine.StatusOK}),
		agenttest.Frame(protocol.StepStart, 1, protocol.StepMessage{Step: "2"}),
		agenttest.Results(1, engine.Result{Step: "2", Status: engine.StatusOK}, engine.Result{Step: "3", Status: engine.StatusOK}),
		agenttest.Frame(protocol.SegmentEnd, 1, protocol.EndMessage{}),
	} {
		if err := s.segmentFrame(frame); err != nil {
			t.Fatal(err)
		}
	}
	end := s.deliver(seg, func(r engine.Result) { seen = append(seen, "end "+r.Step) })
	want := order{"step.start 1", "step.text 1", "end 1", "step.start 2", "end 2", "end 3"}
	if diff := cmp.Diff(want, seen); diff != "" || end == nil {
		t.Errorf("%s, end %v", diff, end)
	}
}
