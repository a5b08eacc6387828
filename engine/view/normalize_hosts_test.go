package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

func TestNormalizeHosts(t *testing.T) {
	for _, tt := range []struct{ host, text, want string }{
		{"n1", "n1: connect: dial tcp 10.0.0.1:22: refused", "HOST: connect: dial tcp ADDRESS:22: refused"},
		{"n1", "n10: lost on n1.example and n1", "n10: lost on n1.example and HOST"},
		{"n1", "dial tcp [fd00::1]:22; trying again in 1.9s (3 of 4)", "dial tcp ADDRESS:22; trying again (3 of 4)"},
		{"", "exit code 3 of nginx 1.22.1", "exit code 3 of nginx 1.22.1"},
	} {
		if got := NormalizeHosts(tt.host, tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.host, got, tt.want)
		}
	}
}

// TestARackIsDown: one line reports the retries and losses of all hosts with the same
// reason; another reason has its own line.
func TestARackIsDown(t *testing.T) {
	tell := newDescriber(Options{})
	var out []string
	for i := range 3 {
		host := fmt.Sprintf("n%d", i+1)
		cause := fmt.Sprintf("%s: connect: dial tcp 10.0.0.%d:22: refused", host, i+1)
		for _, e := range []engine.Event{
			{Type: engine.EventHostRetry, Host: host, Text: fmt.Sprintf("%s; trying again in %dms (2 of 4)", cause, 800+i)},
			{Type: engine.EventHostRetry, Host: host, Text: fmt.Sprintf("%s; trying again in %dms (3 of 4)", cause, 1600+i)},
			{Type: engine.EventHostParked, Host: host, Text: cause},
		} {
			if text := tell.describe(e); text != "" {
				out = append(out, strings.Join(strings.Fields(text), " "))
			}
		}
	}
	want := []string{
		"n1 retry connect: dial tcp 10.0.0.1:22: refused; trying again in 800ms (2 of 4)",
		"n1 retry connect: dial tcp 10.0.0.1:22: refused; trying again in 1600ms (3 of 4)",
		"n1 PARKED left out from here on: connect: dial tcp 10.0.0.1:22: refused",
	}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
}

// TestOneCauseThatNamesHosts: a failure of a step for all hosts is the same text for each of them,
// although it names some of them.
func TestOneCauseThatNamesHosts(t *testing.T) {
	tell := newDescriber(Options{})
	var out []string
	for _, host := range []string{"m1", "n1", "n2"} {
		out = append(out, tell.describe(engine.Event{Type: engine.EventHostParked, Host: host, Text: `"may leave" failed (run once, on m1): n1 cannot leave`}))
	}
	if out[0] == "" || out[1] != "" || out[2] != "" {
		t.Errorf("%q", out)
	}
}
