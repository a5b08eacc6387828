package agent

import (
	"sync"
	"time"
)

// startDelay is the time that a step runs before the controller gets a step-start
// message. Most steps end sooner, and their result includes the start: that saves
// one message a step on each of a thousand hosts.
const startDelay = 50 * time.Millisecond

// startNotice sends the notice that a step has begun: once the step has run for
// startDelay or reports something, and never after its end.
type startNotice struct {
	mu     sync.Mutex
	timer  *time.Timer
	notify func() // nil once the notice was sent, and before and after the step
}

// begin schedules the notice of a step that begins now.
func (s *startNotice) begin(say func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = say
	s.timer = time.AfterFunc(startDelay, s.send)
}

// send sends the notice now, unless it was sent or the step has ended.
func (s *startNotice) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notify != nil {
		s.notify()
		s.notify = nil
	}
}

// end drops the notice of a step that ends now.
func (s *startNotice) end() {
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify = nil
}
