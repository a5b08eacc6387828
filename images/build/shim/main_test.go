package main

import (
	"slices"
	"strings"
	"testing"
)

// TestWithStream: for any arguments of nginx, the stream module is loaded once and
// nothing else changes.
func TestWithStream(t *testing.T) {
	load := "load_module " + streamModule + ";"
	for call, want := range map[string][]string{
		"nginx":                      {"nginx", "-g", load},
		"nginx|-g|daemon off;":       {"nginx", "-g", load + " daemon off;"},
		"nginx|-gdaemon off;":        {"nginx", "-g" + load + " daemon off;"},
		"nginx|-c|/x|-g|daemon off;": {"nginx", "-c", "/x", "-g", load + " daemon off;"},
		"nginx|-t|-c|/x":             {"nginx", "-t", "-c", "/x", "-g", load},
	} {
		if got := withStream(strings.Split(call, "|")); !slices.Equal(got, want) {
			t.Errorf("%s becomes %q, want %q", call, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	saved := "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT -j DROP\n-A INPUT -j ACCEPT\nCOMMIT\n# -A no\n"
	if got := count([]byte(saved)); got != 2 {
		t.Errorf("counted %d rules, want 2", got)
	}
}
