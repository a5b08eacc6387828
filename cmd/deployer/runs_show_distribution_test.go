package main

import (
	"strings"
	"testing"

	"deployer/engine"
)

func TestDistributionOfRun(t *testing.T) {
	d := &distribution{}
	var out strings.Builder
	if d.print(&out, true); out.Len() > 0 {
		t.Errorf("a run without shared blobs shows %q", out.String())
	}
	d.Emit(engine.Event{Type: engine.EventReceived, Host: "n1", Name: strings.Repeat("a", 64), Text: "from n2\x1b[31m"})
	d.Emit(engine.Event{Type: engine.EventDistributed, Text: "1 large blob"})
	if d.print(&out, false); out.String() != "\ndistribution: 1 large blob\n" {
		t.Errorf("got %q", out.String())
	}
	out.Reset()
	if d.print(&out, true); !strings.Contains(out.String(), "  n1: blob aaaaaaaaaaaa from n2") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("got %q", out.String())
	}
}
