package schedule

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSet: variables that a task sets belong to its host and keep their values for
// later tasks.
func TestSet(t *testing.T) {
	tests := map[string]struct {
		play string
		want []string // the texts of `say` on h2
		fail string   // of the host
	}{
		"new variable":                             {"[{set: {port: 80}}, {name: say, do: {text: '{{ port }}'}}]", []string{"80"}, ""},
		"wins over vars of the play":               {"[{set: {color: red}}, {name: say, do: {text: '{{ color }}'}}]", []string{"red"}, ""},
		"variable of the play that reads it":       {"[{name: say, do: {text: '{{ url }}'}}, {set: {color: red}}, {name: say, do: {text: '{{ url }}'}}]", []string{"/blue", "/red"}, ""},
		"command line wins":                        {"[{set: {given: red}}, {name: say, do: {text: '{{ given }}'}}]", []string{"blue"}, ""},
		"wins over vars of a task":                 {"[{set: {color: red}}, {name: say, do: {text: '{{ color }}'}, vars: {color: green}}]", []string{"red"}, ""},
		"parameters of an include win":             {"[{set: {color: red}}, {include_tasks: say.yaml, vars: {color: green}}]", []string{"green"}, ""},
		"computed from its own value":              {"[{set: {n: '{{ n + 1 }}'}}, {set: {n: '{{ n + 1 }}'}}, {name: say, do: {text: '{{ n }}'}}]", []string{"4"}, ""},
		"own value on each host":                   {"[{set: {me: 'I am {{ host.name }}'}}, {name: say, do: {text: '{{ me }}'}}]", []string{"I am h2"}, ""},
		"skipped, variable has a value":            {"[{set: {color: red}, when: n == 1}, {name: say, do: {text: '{{ color }}'}}]", []string{"blue"}, ""},
		"skipped, variable has no value":           {"[{set: {port: 80}, when: n == 1}, {name: say, do: {text: '{{ port }}'}}]", nil, `unknown name "port"; site.yaml:3:11 sets it, but has not run on this host`},
		"failed task":                              {"[{set: {values: {color: red}, do: fail}, ignore_errors: true}, {name: say, do: {text: '{{ color }}'}}]", []string{"blue"}, ""},
		"loop that appends":                        {"[{set: {all: '{{ concat(all, [item]) }}'}, loop: [a, b]}, {name: say, do: {text: '{{ join(all, \",\") }}'}}]", []string{"z,a,b"}, ""},
		"loop with a condition on the item":        {"[{set: {color: '{{ item }}'}, loop: [a, b, c], when: item != 'c'}, {name: say, do: {text: '{{ color }}'}}]", []string{"b"}, ""},
		"run_once sets it on all hosts":            {"[{set: {first: '{{ host.name }}'}, run_once: true}, {name: say, do: {text: '{{ first startsWith \"h\" }}'}}]", []string{"true"}, ""},
		"run_once, skipped":                        {"[{set: {color: '{{ host.name }}'}, when: host.name == 'h2'}, {set: {color: x}, run_once: true, when: n == 1}, {name: say, do: {text: '{{ color }}'}}]", []string{"h2"}, ""},
		"with register":                            {"[{set: {color: red}, register: r}, {name: say, do: {text: '{{ color }} {{ r.color }}'}}]", []string{"blue red"}, ""},
		"argument values":                          {"[{set: {values: {color: red}}}, {name: say, do: {text: '{{ color }}'}}]", []string{"red"}, ""},
		"read by a condition":                      {"[{set: {on: true}}, {name: say, do: {text: yes it is}, when: on}]", []string{"yes it is"}, ""},
		"set before a failure, read in rescue":     {"[{block: [{set: {color: red}}, {do: {do: fail}}], rescue: [{name: say, do: {text: '{{ color }}'}}]}]", []string{"red"}, ""},
		"not set before a failure, read in rescue": {"[{block: [{do: {do: fail}}, {set: {color: red}}], rescue: [{name: say, do: {text: '{{ color }}'}}]}]", []string{"blue"}, ""},
		"delegated task":                           {"[{set: {color: red}, delegate_to: h1}, {name: say, do: {text: '{{ color }}'}}]", []string{"red"}, ""},
	}
	for name, tt := range tests {
		for _, check := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, check %v", name, check), func(t *testing.T) {
				s := of(2)
				s.files = []string{"say.yaml", "- {name: say, do: {text: '{{ color }}'}}"}
				s.opts = func(o *Options) {
					o.Extra, o.CheckOnly = map[string]any{"given": "blue"}, check
				}
				report := s.run(t, t.Context(), "- hosts: all\n  vars: {color: blue, url: '/{{ color }}', all: [z]}\n  tasks: "+tt.play)
				var got []string
				for _, line := range s.fleet.of("h2") {
					if text, ok := strings.CutPrefix(line, "say "); ok {
						got = append(got, text)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s\n%s", diff, summary(report))
				}
				if failed := summary(report); !strings.Contains(failed, strings.ReplaceAll(tt.fail, `"`, `\"`)) && !check {
					t.Errorf("%s, want %q", failed, tt.fail)
				}
			})
		}
	}
}
