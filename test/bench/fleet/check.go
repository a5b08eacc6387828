package main

import (
	"fmt"
)

// expected is the work that a run must have done. The figures of a run that did other
// work are an error.
type expected struct {
	hosts  int
	change bool // each host was changed; false: none
}

func (e expected) check(r run, steps, forks int) error {
	if len(r.report.Hosts) != e.hosts {
		return fmt.Errorf("%d hosts were in the run, want %d", len(r.report.Hosts), e.hosts)
	}
	if r.Connections != e.hosts {
		return fmt.Errorf("%d connections were made, want %d", r.Connections, e.hosts)
	}
	if r.Busy > forks {
		return fmt.Errorf("%d hosts were worked on at once, allowed are %d", r.Busy, forks)
	}
	for _, h := range r.report.Hosts {
		done := h.OK + h.Changed + h.Skipped
		if h.Failure != nil || h.Failed > 0 || h.Cancelled || done < steps || done > steps+1 { // a handler more
			return fmt.Errorf("%s ended %d of %d steps: %+v", h.Host, done, steps, h)
		}
		if changed := h.Changed > 0; changed != e.change {
			return fmt.Errorf("%s has %d changed steps", h.Host, h.Changed)
		}
	}
	return nil
}
