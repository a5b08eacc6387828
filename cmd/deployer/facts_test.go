package main

import (
	"strings"
	"testing"

	"deployer/engine"
)

// TestFactsNumbers checks that whole numbers from JSON are printed as whole numbers.
func TestFactsNumbers(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := printFacts(&b, []execResult{
		{Host: "h1", Status: engine.StatusOK, Output: engine.Output{"memory_bytes": 25274793984.0, "load": 0.5}},
		{Host: "h2", Status: engine.StatusFailed, Message: "gone"},
	}); err != nil {
		t.Fatal(err)
	}
	if want := "== h1\nload: 0.5\nmemory_bytes: 25274793984\n== h2\nerror: gone\n"; b.String() != want {
		t.Errorf("got %s", b.String())
	}
}
