package main

import (
	"strings"
	"testing"

	"deployer/engine"
)

// TestFactsAreReadable: whole numbers, which came as JSON, are written as such.
func TestFactsAreReadable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := printFacts(&b, []answer{
		{Host: "h1", Status: engine.StatusOK, Output: engine.Output{"memory_bytes": 25274793984.0, "load": 0.5}},
		{Host: "h2", Status: engine.StatusFailed, Message: "gone"},
	}); err != nil {
		t.Fatal(err)
	}
	if want := "== h1\nload: 0.5\nmemory_bytes: 25274793984\n== h2\nerror: gone\n"; b.String() != want {
		t.Errorf("got %s", b.String())
	}
}
