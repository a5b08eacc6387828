package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func hostSet(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// order lets all hosts enter and leave as proved, and returns the hosts that entered
// together.
func order(r *Rollout, hosts []Entrant) [][]string {
	for _, e := range hosts {
		r.Wait(e)
	}
	var out [][]string
	for {
		in := r.Next()
		if len(in) == 0 {
			return out
		}
		out = append(out, in)
		for _, h := range in {
			r.Leave(h, Proved)
		}
	}
}

// TestStepsInOrder: steps follow each other, groups of a step go side by side with limits
// of their own, and hosts of no step come last.
func TestStepsInOrder(t *testing.T) {
	t.Parallel()
	names := []string{"a1", "a2", "a3", "b1", "b2", "c1", "c2"}
	var hosts []Entrant
	for i, n := range names {
		hosts = append(hosts, Entrant{Host: n, Order: i, MaxParallel: 10})
	}
	r := New(Rules{Steps: []Step{
		{{Hosts: hostSet("c2"), MaxFail: -1}},
		{{Hosts: hostSet("a1", "a2", "a3"), MaxParallel: 2, MaxFail: -1}, {Hosts: hostSet("b1", "b2", "a1"), MaxParallel: 1, MaxFail: -1}},
	}}, names)
	want := [][]string{{"c2"}, {"a1", "a2", "b1"}, {"a3", "b2"}, {"c1"}}
	if diff := cmp.Diff(want, order(r, hosts)); diff != "" {
		t.Errorf("entered together (-want +got):\n%s", diff)
	}
}

// TestStepsWithCanaries: a group has its canary in the first step with one of its hosts.
func TestStepsWithCanaries(t *testing.T) {
	t.Parallel()
	names := []string{"n1", "n2", "n3", "g1", "g2"}
	var hosts []Entrant
	for i, n := range names {
		hosts = append(hosts, Entrant{Host: n, Order: i, MaxParallel: 10})
	}
	r := New(Rules{
		Canary: []map[string]bool{hostSet("g1", "g2"), hostSet("n1", "n2", "n3")},
		Steps:  []Step{{{Hosts: hostSet("n2", "n3"), MaxFail: -1}}},
	}, names)
	want := [][]string{{"n2"}, {"n3"}, {"g1"}, {"n1", "g2"}}
	if diff := cmp.Diff(want, order(r, hosts)); diff != "" {
		t.Errorf("entered together (-want +got):\n%s", diff)
	}
}

// TestStepsAfterInterruptedRun: hosts that an earlier run has left inside wait for no step.
func TestStepsAfterInterruptedRun(t *testing.T) {
	t.Parallel()
	r := New(Rules{Steps: []Step{{{Hosts: hostSet("a"), MaxFail: -1}}}}, []string{"a", "b"})
	want := [][]string{{"b"}, {"a"}}
	hosts := []Entrant{{Host: "a", MaxParallel: 1}, {Host: "b", Order: 1, MaxParallel: 1, Interrupted: true}}
	if diff := cmp.Diff(want, order(r, hosts)); diff != "" {
		t.Errorf("entered together (-want +got):\n%s", diff)
	}
}

// TestBudgetsOfGroups: failures count for the budget of their group; failures of
// hosts in no group with a budget count for that of the rollout.
func TestBudgetsOfGroups(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fail []string
		want bool
	}{
		"within the group's budget": {fail: []string{"a1", "a2"}},
		"beyond the group's budget": {fail: []string{"a1", "a2", "a3"}, want: true},
		"a group without budget":    {fail: []string{"b1"}, want: true},
		"failures of other groups":  {fail: []string{"a1", "a2", "b1"}, want: true},
	}
	for name, tt := range tests {
		names := []string{"a1", "a2", "a3", "b1"}
		r := New(Rules{Steps: []Step{{{Hosts: hostSet("a1", "a2", "a3"), MaxFail: 2}, {Hosts: hostSet("b1"), MaxFail: -1}}}}, names)
		for i, n := range names {
			r.Wait(Entrant{Host: n, Order: i, MaxParallel: 10})
		}
		r.Next()
		for _, h := range tt.fail {
			r.Leave(h, Failed)
		}
		if r.Stopped() != tt.want {
			t.Errorf("%s: stopped is %t, want %t", name, r.Stopped(), tt.want)
		}
	}
}

// TestStepsProperty runs random rollouts with steps: no host enters before all hosts
// of earlier steps have left, groups keep their limits, and every host enters unless
// the rollout stops.
func TestStepsProperty(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		if wrong := stepsWorld(rand.New(rand.NewPCG(seed, 0))); wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
	}
}

func stepsWorld(rng *rand.Rand) string {
	steps := make([]Step, 1+rng.IntN(3))
	for i := range steps {
		steps[i] = make(Step, 1+rng.IntN(2))
		for j := range steps[i] {
			steps[i][j] = Group{Hosts: map[string]bool{}, MaxParallel: rng.IntN(3), MaxFail: rng.IntN(4) - 1}
		}
	}
	at := map[string][2]int{} // host -> step and group; a host of no step has none
	entrants := map[string]Entrant{}
	canaries := map[string]bool{}
	var names []string
	for i := range 2 + rng.IntN(12) {
		h := fmt.Sprintf("h%d", i)
		names = append(names, h)
		if s := rng.IntN(len(steps) + 1); s < len(steps) {
			g := rng.IntN(len(steps[s]))
			steps[s][g].Hosts[h], at[h] = true, [2]int{s, g}
		} else {
			at[h] = [2]int{len(steps), -1}
		}
		if rng.IntN(3) == 0 {
			canaries[h] = true
		}
		e := Entrant{Host: h, Order: i, MaxParallel: 1 + rng.IntN(5), MaxFail: rng.IntN(3)}
		if rng.IntN(6) == 0 {
			e.Interrupted, e.Finishing = true, rng.IntN(2) == 0
		} else {
			e.FailedBefore = rng.IntN(6) == 0
		}
		entrants[h] = e
	}
	r := New(Rules{Steps: steps, Canary: []map[string]bool{canaries}}, names)
	undecided, inside, through := slices.Clone(names), map[string]bool{}, map[string]bool{}
	for len(undecided)+len(inside) > 0 {
		if len(undecided) > 0 && (len(inside) == 0 || rng.IntN(2) == 0) {
			i := rng.IntN(len(undecided))
			h := undecided[i]
			undecided = slices.Delete(undecided, i, i+1)
			if rng.IntN(5) == 0 {
				r.Pass(h)
				through[h] = true
			} else {
				r.Wait(entrants[h])
			}
		} else {
			h := slices.Sorted(keys(inside))[rng.IntN(len(inside))]
			delete(inside, h)
			through[h] = true
			r.Leave(h, []Outcome{Proved, Proved, Proved, Proved, Unchanged, Failed}[rng.IntN(6)])
		}
		for _, h := range r.Next() {
			inside[h] = true
			if e := entrants[h]; e.Interrupted {
				continue
			}
			together := 0
			for _, other := range names {
				if at[other][0] < at[h][0] && !through[other] {
					return fmt.Sprintf("%s of step %d entered before %s of step %d was through", h, at[h][0], other, at[other][0])
				}
				if inside[other] && at[other] == at[h] {
					together++
				}
			}
			if s := at[h]; s[1] >= 0 && steps[s[0]][s[1]].MaxParallel > 0 && together > steps[s[0]][s[1]].MaxParallel {
				return fmt.Sprintf("%d hosts of the group of %s are inside, want at most %d", together, h, steps[s[0]][s[1]].MaxParallel)
			}
		}
	}
	if left := len(names) - len(through); left > 0 && !r.Stopped() {
		return fmt.Sprintf("%d hosts wait for ever", left)
	}
	return ""
}
