package remote

import (
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/protocol"
)

func heldSession(t *testing.T, seen *order) (*Session, *segment) {
	t.Helper()
	s := &Session{opts: Options{Host: "m1", Sink: seen}, segments: map[uint32]*segment{}, ctx: t.Context(),
		results: budget{limit: maxWaiting}, texts: budget{limit: maxWaitingText}}
	seg := &segment{wakeup: make(chan struct{}, 1), abandoned: make(chan struct{})}
	for i := range 200 {
		seg.steps = append(seg.steps, engine.Step{ID: string(rune('A' + i))})
	}
	s.segments[1] = seg
	return s, seg
}

// TestFloodOfText: unread text is bounded in bytes, that of a step for its whole run;
// repeated starts of a step count once.
func TestFloodOfText(t *testing.T) {
	var seen order
	s, seg := heldSession(t, &seen)
	say := func(n int) {
		for range n {
			for _, f := range []protocol.Frame{
				agenttest.Frame(protocol.StepStart, 1, protocol.StepMessage{Step: "A"}),
				agenttest.Frame(protocol.Progress, 1, protocol.StepMessage{Step: "A", Text: strings.Repeat("x", 100<<10)}),
			} {
				if err := s.segmentFrame(f); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	say(500)
	if n := len(seg.queue); n < 10 || n > maxWaitingText/maxProgress {
		t.Errorf("%d events wait", n)
	}
	for range 100 {
		s.deliver(seg, nil)
		say(20)
	}
	s.deliver(seg, nil)
	if n := len(seen); n > maxStepProgress/maxProgress+1 {
		t.Errorf("%d events were shown of one step", n)
	}
	if s.texts.used != 0 {
		t.Errorf("%d bytes are still counted", s.texts.used)
	}
}

// TestFloodOfResults: unread results make the host wait, and dropped results use none
// of the budget.
func TestFloodOfResults(t *testing.T) {
	var seen order
	s, seg := heldSession(t, &seen)
	large := engine.Output{"stdout": strings.Repeat("x", 7<<20)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, step := range seg.steps[:30] {
			if err := s.segmentFrame(agenttest.Results(1, engine.Result{Step: step.ID, Status: engine.StatusOK, Output: large})); err != nil {
				t.Errorf("step %s: %v", step.ID, err)
			}
		}
	}()
	select {
	case <-done:
		t.Fatal("a host that is not listened to goes on")
	case <-time.After(time.Second):
	}
	if used := givenOut(&s.results); used > maxWaiting {
		t.Errorf("%d bytes wait", used)
	}
	taken := 0
	for began := time.Now(); taken < 10 && time.Since(began) < time.Minute; time.Sleep(5 * time.Millisecond) {
		s.deliver(seg, func(engine.Result) { taken++ })
	}
	s.dropSegment(1) // and the rest is never read
	<-done
	if used := givenOut(&s.results); taken < 10 || used != 0 {
		t.Errorf("%d were taken, %d bytes are still counted", taken, used)
	}
}

// givenOut returns the number of bytes that are taken from a budget.
func givenOut(b *budget) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}
