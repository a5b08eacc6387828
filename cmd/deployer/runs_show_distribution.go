package main

import (
	"fmt"
	"io"

	"deployer/engine"
	"deployer/engine/sanitize"
)

// distribution collects from where the hosts of a run have received large blobs.
type distribution struct {
	sum      string
	received []engine.Event
}

// Emit implements engine.Sink.
func (d *distribution) Emit(e engine.Event) {
	switch e.Type {
	case engine.EventDistributed:
		d.sum = e.Text
	case engine.EventReceived:
		d.received = append(d.received, e)
	}
}

// print writes the sum of the run, and a line for each host and blob when details is true. The log may
// come from a host.
func (d *distribution) print(w io.Writer, details bool) {
	if d.sum == "" && len(d.received) == 0 {
		return
	}
	fmt.Fprintf(w, "\ndistribution: %s\n", sanitize.Line(d.sum))
	if !details {
		return
	}
	for _, e := range d.received {
		fmt.Fprintf(w, "  %s: blob %.12s %s\n", sanitize.Line(e.Host), sanitize.Line(e.Name), sanitize.Line(e.Text))
	}
}
