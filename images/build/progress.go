package build

import (
	"sync"
	"time"
)

// tick is the interval of progress reports during a long compilation.
const tick = 2 * time.Second

// reporter converts the builder's steps to events.
type reporter struct {
	report        func(Event)
	mu            sync.Mutex
	number, total int
}

func (r *reporter) send(state State, what string, elapsed time.Duration) {
	if r.report == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report(Event{State: state, What: what, Number: r.number, Total: r.total, Elapsed: elapsed})
}

func (r *reporter) cached(what string) { r.send(Cached, what, 0) }

// during reports the start, progress and end of do.
func (r *reporter) during(what string, do func() error) error {
	start := time.Now()
	r.send(Started, what, 0)
	done := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		beat := time.NewTicker(tick)
		defer beat.Stop()
		for {
			select {
			case <-done:
				return
			case <-beat.C:
				r.send(Running, what, time.Since(start))
			}
		}
	})
	err := do()
	close(done)
	beating.Wait()
	if err != nil {
		r.send(Failed, what, time.Since(start))
		return err
	}
	r.send(Built, what, time.Since(start))
	return nil
}
