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

func (r *reporter) send(state State, image, what string, elapsed time.Duration) {
	if r.report == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report(Event{State: state, What: what, Image: image, Number: r.number, Total: r.total, Elapsed: elapsed})
}

// begin counts one more output that is being built.
func (r *reporter) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.number++
}

func (r *reporter) cached(o *output) { r.send(Cached, o.imageName(), o.ref.String(), 0) }

// duringOutput calls during for an output.
func (r *reporter) duringOutput(o *output, do func() error) error {
	return r.repeat(o.imageName(), o.ref.String(), do)
}

// during reports the start, progress and end of do.
func (r *reporter) during(what string, do func() error) error {
	return r.repeat("", what, do)
}

func (r *reporter) repeat(image, what string, do func() error) error {
	start := time.Now()
	r.send(Started, image, what, 0)
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
				r.send(Running, image, what, time.Since(start))
			}
		}
	})
	err := do()
	close(done)
	beating.Wait()
	if err != nil {
		r.send(Failed, image, what, time.Since(start))
		return err
	}
	r.send(Built, image, what, time.Since(start))
	return nil
}
