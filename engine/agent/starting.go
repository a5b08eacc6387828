package agent

import (
	"sync"
	"time"
)

// startDelay is how long a step may take before the controller is told that it
// has begun. Most are over sooner, and their end says all there is to say: that
// is one message less for each step, on each of a thousand hosts.
const startDelay = 50 * time.Millisecond

// starting tells that a step has begun: when it takes longer than startDelay or
// has something to say, and never after its end.
type starting struct {
	mu    sync.Mutex
	timer *time.Timer
	say   func() // nil once it was said, and before and after the step
}

func (s *starting) begin(say func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say = say
	s.timer = time.AfterFunc(startDelay, s.tell)
}

func (s *starting) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.say != nil {
		s.say()
		s.say = nil
	}
}

func (s *starting) end() {
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.say = nil
}
