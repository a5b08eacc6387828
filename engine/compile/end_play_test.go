package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/program"
	"deployer/limit"
)

// TestEndPlay: end_play is end_host on every host where its condition is the same on
// all hosts, and an error with the reason where hosts may differ.
func TestEndPlay(t *testing.T) {
	inventory := func(own int) map[string]any {
		return hostVars(t, map[string]any{"same": 1, "own": own, "of_same": "{{ same }}", "of_facts": "{{ facts.os }}"})
	}
	a := inventory(1)
	b := inventory(2)
	for _, name := range []string{"of_same", "of_facts"} { // one place gives both
		b[name] = a[name]
	}
	for name, tt := range map[string]struct{ play, why string }{
		"without condition":                               {"tasks: [{meta: end_play}]", ""},
		"run.check":                                       {"tasks: [{meta: end_play, when: run.check}]", ""},
		"a variable of the play":                          {"vars: {v: 1}\n  tasks: [{meta: end_play, when: v == 1}]", ""},
		"variable of the command line":                    {"tasks: [{meta: end_play, when: given == 1}]", ""},
		"variable of a prompt":                            {"vars_prompt: [{name: sure}]\n  tasks: [{meta: end_play, when: sure == 'no'}]", ""},
		"equal on all hosts":                              {"tasks: [{meta: end_play, when: same == 1}]", ""},
		"computed from an equal variable":                 {"tasks: [{meta: end_play, when: of_same == 1}]", ""},
		"result of run_once":                              {"tasks: [{run: x, register: r, run_once: true}, {meta: end_play, when: r.changed}]", ""},
		"condition of a block":                            {"tasks: [{block: [{meta: end_play}], when: same == 1}]", ""},
		"in the always part":                              {"tasks: [{block: [{run: x}], rescue: [{run: y}], always: [{meta: end_play}]}]", ""},
		"variable that differs between hosts":             {"tasks: [{meta: end_play, when: own == 1}]", `"own == 1" reads own, which may differ`},
		"a fact":                                          {"vars: {v: '{{ facts.os }}'}\n  tasks: [{meta: end_play, when: v == 'x'}]", "reads facts, which may differ"},
		"fact through an inventory variable":              {"tasks: [{meta: end_play, when: of_facts == 'x'}]", "reads facts (through the variable at inv.yaml:"},
		"a result":                                        {"tasks: [{run: x, register: r}, {meta: end_play, when: r.changed}]", "reads r, which may differ"},
		"name of the host":                                {"tasks: [{meta: end_play, when: host.name == 'a'}]", "reads host, which may differ"},
		"condition of a block that differs between hosts": {"tasks: [{block: [{meta: end_play}], when: own == 1}]", `"own == 1" reads own`},
		"in the rescue part":                              {"tasks: [{block: [{run: x}], rescue: [{meta: end_play}]}]", "only hosts on which something failed"},
	} {
		lib := inventoryOf(map[string]map[string]any{"h1": a, "h2": b})
		lib.Extra = map[string]any{"given": 1}
		p, err := compileFiles(t, lib, "site.yaml", "- hosts: all\n  "+tt.play+"\n")
		switch {
		case tt.why != "" && (err == nil || !strings.Contains(err.Error(), tt.why)):
			t.Errorf("%s: %v, want %s", name, err, tt.why)
		case tt.why == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.why == "":
			ends := 0
			for _, op := range p.Ops {
				if op.Kind == program.OpEndHost {
					ends++
				}
			}
			if ends != 1 {
				t.Errorf("%s: %d hosts ends", name, ends)
			}
		}
	}
}

// TestMaxFailPercentage: max_fail_percentage is a share of the hosts of the play.
func TestMaxFailPercentage(t *testing.T) {
	p := mustCompile(t, "site.yaml", "- hosts: web\n  max_fail_percentage: 30\n")
	if diff := cmp.Diff(map[string]limit.Limit{"web": {Percent: 30, Share: true}}, p.Plays[0].MaxFail); diff != "" {
		t.Error(diff)
	}
}
