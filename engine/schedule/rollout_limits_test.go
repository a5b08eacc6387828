package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/limit"
)

// zones are the zones of seven hosts.
var zones = map[string]any{"n1": "a", "n2": "a", "n3": "a", "n4": "a", "n5": "b", "n6": "b", "n7": "c"}

// zonedHosts are seven hosts with the variable zones.
func zonedHosts(w *rolloutHosts) *scenario {
	s := rolled(w, 0, 7)
	s.opts = func(o *Options) { o.Extra = map[string]any{"zones": zones} }
	return s
}

// rolloutOf returns a playbook with a rollout.
func rolloutOf(rollout string) string {
	return "- hosts: all\n  tasks:\n    - name: settings\n      rollout: " + rollout + "\n      block:\n        - {name: config, do: {}}\n        - {name: healthy, gate: {}}\n"
}

// changedIn returns the zones of the changed hosts, in the order of their changes.
func changedIn(w *rolloutHosts) string {
	out := ""
	for _, line := range w.log {
		if h, ok := strings.CutSuffix(line, " change"); ok {
			out += zones[h].(string)
		}
	}
	return out
}

// TestRolloutSpread checks that hosts take turns over zones once all have decided.
func TestRolloutSpread(t *testing.T) {
	w := newRolloutHosts()
	s := zonedHosts(w)
	// The first two hosts are canaries, so that all hosts wait when the third one
	// enters.
	w.pause = 30 * time.Millisecond
	r := s.run(t, t.Context(), rolloutOf("{canaries: 2, max_parallel: 1, spread: 'zones[host.name]'}"))
	if r.Outcome() != engine.OutcomeDone {
		t.Fatalf("%s\n%s", r.Outcome(), summary(r))
	}
	// Each zone has its turn before a zone has its second turn, whatever the zone of
	// the first host.
	got := []byte(changedIn(w))
	if slices.Sort(got[:3]); string(got[:3]) != "abc" || string(got[3:5]) != "ab" || string(got[5:]) != "aa" {
		t.Errorf("the zones had turns in the order %s", changedIn(w))
	}
}

// TestRolloutMaxUnavailable checks the limit for hosts with the same value.
func TestRolloutMaxUnavailable(t *testing.T) {
	by := func(limit string) string { return "{by: 'zones[host.name]', limit: " + limit + "}" }
	for text, most := range map[string]int{by("1"): 1, by("2"): 2, by("50%"): 2, by("3 - 1"): 2, by("10%"): 1,
		"[" + by("3") + ", {by: host.name < 'n3', limit: 1}]":                  2,
		`'[{"by": zones[host.name], "limit": 2}]'`:                             2,
		`'map(limits, ({"by": hosts_of[.property][host.name], "limit": .n}))'`: 1,
		`'[{"by": host.name, "limit": 1}]'`:                                    4,
	} {
		w := newRolloutHosts()
		s := zonedHosts(w)
		s.opts = func(o *Options) {
			o.Extra = map[string]any{"zones": zones, "hosts_of": map[string]any{"zone": zones}, "limits": []any{map[string]any{"property": "zone", "n": 1}}}
		}
		inA := 0
		s.fleet.onSegment = func(host string, check bool, step engine.Step) string {
			do := w.step(host, check, step)
			if step.Name == "config" && !check {
				time.Sleep(20 * time.Millisecond) // others enter meanwhile
				w.mu.Lock()
				n := 0
				for h := range w.inside {
					if h <= "n4" {
						n++
					}
				}
				inA = max(inA, n)
				w.mu.Unlock()
			}
			return do
		}
		r := s.run(t, t.Context(), rolloutOf("{canary: [], max_parallel: 100%, max_unavailable: "+text+"}"))
		if inA > most || len(w.new) != 7 || r.Outcome() != engine.OutcomeDone {
			t.Errorf("%s: %d hosts of zone a were inside at once, at most %d may be; %d were changed", text, inA, most, len(w.new))
		}
	}
}

// TestRolloutMaxUnavailableThatIsWrong checks the errors of expressions that give no limits.
func TestRolloutMaxUnavailableThatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"host.name":                          `want a list of mappings with by and limit, got the text "n1"`,
		`'[{"by": 1}]'`:                      `want mappings with by and limit, got`,
		`'[{"zone": 1, "limit": 1}]'`:        `want mappings with by and limit, got`,
		`'[{"by": 1, "limit": "a few"}]'`:    `limit: "a few" is not a number of hosts`,
		"'[{\"by\": 1, \"limit\": -1}]'":     `limit: "-1" is not a number of hosts`,
		"[{by: host.name, limit: \"'-1'\"}]": `limit "'-1'": "-1" is not a number of hosts`,
	} {
		r := rolled(newRolloutHosts(), 0, 1).run(t, t.Context(), rolloutOf("{max_unavailable: "+text+"}"))
		if f := r.Hosts[0].Failure; f == nil || !strings.Contains(f.Message, want) || !strings.Contains(f.Message, "site.yaml:4:") {
			t.Errorf("%s: failure %v, want %q", text, f, want)
		}
	}
}

// TestRolloutCritical checks that a critical host stops the rollout whatever max_fail permits.
func TestRolloutCritical(t *testing.T) {
	for rollout, want := range map[string]engine.Outcome{
		"{canary: [], max_parallel: 1, max_fail: 5}":                                     engine.OutcomePartial,
		"{canary: [], max_parallel: 1, max_fail: 5, critical: n1}":                       engine.OutcomeRestored,
		"{canary: [], max_parallel: 1, max_fail: 5, critical: [masters, 'n1,n2']}":       engine.OutcomeRestored,
		"{canary: [], max_parallel: 1, max_fail: 5, critical: \"{{ important }}\"}":      engine.OutcomeRestored,
		"{canary: [], max_parallel: 1, max_fail: 5, critical: [\"{{ important[0] }}\"]}": engine.OutcomeRestored,
		"{canary: [], max_parallel: 1, max_fail: 5, critical: \"{{ [] }}\"}":             engine.OutcomePartial,
	} {
		w := newRolloutHosts()
		w.allergy["n1"] = true
		s := rolled(w, 1, 3)
		s.opts = func(o *Options) {
			o.Extra = map[string]any{"important": []any{"n1"}}
			o.Budget = map[string]limit.Limit{}
		}
		if r := s.run(t, t.Context(), rolloutOf(rollout)); r.Outcome() != want {
			t.Errorf("%s: %s\n%s", rollout, r.Outcome(), summary(r))
		}
	}
}

// TestRolloutLimitsFromVariables checks limits that variables of the run set.
func TestRolloutLimitsFromVariables(t *testing.T) {
	const rollout = "{canary: \"{{ first }}\", canaries: count, max_parallel: width, max_fail: losses}"
	w := newRolloutHosts()
	w.pause = 5 * time.Millisecond
	for i := range 4 {
		w.allergy[fmt.Sprintf("n%d", 5+i)] = true
	}
	s := rolled(w, 3, 8)
	s.opts = func(o *Options) {
		o.Extra = map[string]any{"first": []any{"masters"}, "count": 3, "width": "20%", "losses": "40%"}
	}
	r := s.run(t, t.Context(), rolloutOf(rollout))
	if r.Outcome() != engine.OutcomePartial || len(r.Broken()) != 4 || len(w.new) != 7 {
		t.Errorf("%s: %s\n%s", r.Outcome(), r.Aborted, summary(r))
	}
	for i, line := range w.log[:6] {
		if line[0] != 'm' {
			t.Errorf("entry %d is %q, want three masters as canaries", i, line)
		}
	}
	if w.most > 2 {
		t.Errorf("%d hosts were inside at once, want 20%% of 11 at most", w.most)
	}
	s = rolled(newRolloutHosts(), 1, 1)
	s.opts = func(o *Options) {
		o.Extra = map[string]any{"first": "masters", "count": 1, "width": "many", "losses": 0}
	}
	r = s.run(t, t.Context(), rolloutOf(rollout))
	if h := r.Hosts[0]; h.Failure == nil || !strings.Contains(h.Failure.Message, `max_parallel "width": "many" is not a number of hosts`) || !strings.Contains(h.Failure.Message, "site.yaml:4:") {
		t.Errorf("failure %v", h.Failure)
	}
}
