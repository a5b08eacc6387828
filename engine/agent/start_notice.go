package agent

import (
	"sync"
	"time"
)

// startDelay is how long a step may take before the controller is told that it
// has begun. Most are over sooner, and their end says all there is to say: that
// is one message less for each step, on each of a thousand hosts.
const startDelay = 50 * time.Millisecond

// startNotice tells that a step has begun: when it takes longer than startDelay or
// has something to say, and never after its end.
type startNotice struct {
	mu     sync.Mutex
	timer  *time.Timer
	notify func() // nil once it was said, and before and after the step
}

func (s *startNotice) begin(say func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = say
	s.timer = time.AfterFunc(startDelay, s.send)
}

func (s *startNotice) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notify != nil {
		s.notify()
		s.notify = nil
	}
}

func (s *startNotice) end() {
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = nil
}
