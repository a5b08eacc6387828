package schedule

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOutputLines: a loop over the lines of an output runs once for each line, and not at
// all for an empty output.
func TestOutputLines(t *testing.T) {
	for stdout, want := range map[string][]string{
		"":             nil,
		"a":            {"a"},
		"a b\nc":       {"a b", "c"},
		"\na":          {"", "a"},
		"a\r\nb\u2028": {"a", "b"},
	} {
		s := of(1)
		s.run(t, t.Context(), `- hosts: all
  tasks:
    - do: {say: {stdout: `+strconv.Quote(stdout)+`}}
      register: r
    - {name: line, do: {text: "/x/{{ item }}"}, loop: r.stdout_lines}
    - {name: count, do: {text: "{{ r.stdout_lines | length }} {{ 'stderr_lines' in r }}"}}
`)
		var got []string
		count := ""
		for _, line := range s.fleet.of("h1") {
			if text, ok := strings.CutPrefix(line, "line /x/"); ok {
				got = append(got, text)
			}
			if text, ok := strings.CutPrefix(line, "count "); ok {
				count = text
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", stdout, diff)
		}
		if want := strconv.Itoa(len(want)) + " false"; count != want {
			t.Errorf("%q: count %q, want %q", stdout, count, want)
		}
	}
}

// TestSplitLines: the lines are those of Python's str.splitlines, which Ansible uses.
func TestSplitLines(t *testing.T) {
	for text, want := range map[string][]any{
		"": {}, "\n": {""}, "\n\n": {"", ""}, "a": {"a"}, "a\n": {"a"}, "a\n\n": {"a", ""}, "a\r\nb\r": {"a", "b"},
		"a\vb\u0085c\u2028d": {"a", "b", "c", "d"},
	} {
		if diff := cmp.Diff(want, splitLines(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
