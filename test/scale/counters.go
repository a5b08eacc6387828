package main

import "sync/atomic"

// counters count what the clients of all nodes do.
type counters struct {
	open       atomic.Int64 // watches that are open now
	handshakes atomic.Int64 // connections with a complete TLS handshake
	opened     atomic.Int64 // watches that were opened
	cut        atomic.Int64 // watches whose connection ended; the API server has not ended them
	lists      atomic.Int64 // watches that began with all objects
	refused    atomic.Int64 // requests that were answered with 429
	failed     atomic.Int64 // other requests that failed
	late       atomic.Int64 // Leases that were not renewed within their attempts
}

// counts are the values of counters at one time, or the difference of two.
type counts struct{ handshakes, opened, cut, lists, refused, failed, late int64 }

func (c *counters) now() counts {
	return counts{c.handshakes.Load(), c.opened.Load(), c.cut.Load(), c.lists.Load(), c.refused.Load(), c.failed.Load(), c.late.Load()}
}

func (c counts) since(b counts) counts {
	return counts{c.handshakes - b.handshakes, c.opened - b.opened, c.cut - b.cut, c.lists - b.lists, c.refused - b.refused, c.failed - b.failed, c.late - b.late}
}
