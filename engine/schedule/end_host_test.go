package schedule

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

// TestEndHost: h1 leaves the play, h2 continues.
func TestEndHost(t *testing.T) {
	tests := map[string]struct {
		play   string
		h1, h2 []string
		fails  string // what h1 failed at
	}{
		"with a condition": {"tasks: [{name: a, do: {}}, {meta: end_host, when: host.name == 'h1'}, {name: b, do: {}}]",
			[]string{"a"}, []string{"a", "b"}, ""},
		"without condition": {"tasks: [{name: a, do: {}}, {meta: end_host}, {name: b, do: {}}]", []string{"a"}, []string{"a"}, ""},
		"notified handlers run": {"tasks: [{name: a, do: {do: change}, notify: h}, {meta: end_host, when: host.name == 'h1'}, {name: b, do: {}, notify: i}]\n" +
			"  handlers: [{name: h, do: {}}, {name: i, do: {}}]", []string{"a", "h"}, []string{"a", "b", "h"}, ""},
		"takes part in the next play": {"tasks: [{meta: end_host, when: host.name == 'h1'}, {name: b, do: {}}]\n- hosts: all\n  tasks: [{name: c, do: {}}]",
			[]string{"c"}, []string{"b", "c"}, ""},
		"barriers and needs do not wait for the host": {"tasks: [{meta: end_host, when: host.name == 'h1'}, {name: b, do: {}, barrier: true, label: l}, {name: c, do: {}, needs: l}]",
			nil, []string{"b", "c"}, ""},
		"leaves its throttle": {"tasks: [{throttle: 1, block: [{name: a, do: {}}, {meta: end_host, when: host.name == 'h1'}, {name: b, do: {}}]}, {name: c, do: {}}]",
			[]string{"a"}, []string{"a", "b", "c"}, ""},
		"condition on a registered result": {"tasks: [{name: a, do: {say: {x: '{{ host.name }}'}}, register: r}, {meta: end_host, when: r.x == 'h1'}, {name: b, do: {}}]",
			[]string{"a"}, []string{"a", "b"}, ""},
		"in the rescue part": {"tasks: [{block: [{name: a, do: {do: fail}}], rescue: [{meta: end_host, when: host.name == 'h1'}, {name: r, do: {}}]}, {name: b, do: {}}]",
			[]string{"a"}, []string{"a", "r", "b"}, ""},
		"failure persists after the always part": {"tasks: [{block: [{name: a, do: {do: fail}}], always: [{name: l, do: {}}, {meta: end_host}]}, {name: b, do: {}}]",
			[]string{"a", "l"}, []string{"a", "l"}, "a"},
		"strategy linear": {"strategy: linear\n  tasks: [{name: a, do: {}}, {meta: end_host, when: host.name == 'h1'}, {name: b, do: {}}, {name: c, do: {}}]",
			[]string{"a"}, []string{"a", "b", "c"}, ""},
		"serial":              {"serial: 1\n  tasks: [{meta: end_host, when: host.name == 'h1'}, {name: b, do: {}}]", nil, []string{"b"}, ""},
		"in an included file": {"tasks: [{include_tasks: end.yaml}, {name: b, do: {}}]", nil, []string{"b"}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := of(2)
			s.files = []string{"end.yaml", "- {meta: end_host, when: host.name == 'h1'}\n"}
			report := s.run(t, t.Context(), "- hosts: all\n  max_fail: {all: 100%}\n  "+tt.play+"\n")
			if diff := cmp.Diff(tt.h1, s.fleet.of("h1")); diff != "" {
				t.Errorf("h1: %s", diff)
			}
			if diff := cmp.Diff(tt.h2, s.fleet.of("h2")); diff != "" {
				t.Errorf("h2: %s", diff)
			}
			if got := report.Hosts[0].FailedStep; got != tt.fails {
				t.Errorf("h1 failed at %q, want %q\n%s", got, tt.fails, summary(report))
			}
		})
	}
}

// TestEndHostInCheckMode: where a check cannot know whether a host would leave, the
// later tasks are unknown.
func TestEndHostInCheckMode(t *testing.T) {
	for condition, want := range map[string]string{"r.x == 1": "has not run", "run.check": "different in a real run"} {
		s := of(1)
		s.opts = func(o *Options) { o.CheckOnly = true }
		s.run(t, t.Context(), "- hosts: all\n  tasks: [{name: a, do: {do: change, say: {x: 1}}, register: r}, {meta: end_host, when: "+condition+"}, {name: b, do: {}}]\n")
		if !slices.ContainsFunc(s.fleet.events, func(e engine.Event) bool {
			return e.Name == "b" && e.Result != nil && strings.Contains(e.Result.Unknown, want)
		}) {
			t.Errorf("%s: nobody says that b is not known", condition)
		}
	}
}
