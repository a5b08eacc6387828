package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/limit"
)

// rolloutHosts is the state of fake hosts: the steps that have changed them, and the
// hosts that fail with the change. The steps of a block are "config" (a file) and
// "healthy" (a gate, which fails on a host of allergy that has the change).
type rolloutHosts struct {
	mu      sync.Mutex
	new     map[string]bool // hosts that have the change
	allergy map[string]bool // hosts that fail with the change
	stuck   map[string]bool // hosts on which a restore fails
	lose    map[string]bool // hosts whose connection breaks at the gate
	inside  map[string]bool // hosts between the change and the gate
	most    int             // of these at one time
	log     []string
	pause   time.Duration
	task    string // the number of the task config, with a dot
	changer string // the run that has changed the hosts; "r1" by default
	begun   map[string]bool
}

func newRolloutHosts() *rolloutHosts {
	return &rolloutHosts{new: map[string]bool{}, allergy: map[string]bool{}, stuck: map[string]bool{}, lose: map[string]bool{}, inside: map[string]bool{}, begun: map[string]bool{}, task: ".1", changer: "r1"}
}

func (w *rolloutHosts) step(host string, check bool, s engine.Step) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	note := func(text string) { w.log = append(w.log, host+" "+text) }
	switch {
	case s.Module == engine.RolloutRecordModule:
		var record engine.RolloutRecord
		if err := json.Unmarshal(s.Args, &record); err != nil || check {
			panic(fmt.Sprintf("%s: %v", s.Args, err))
		}
		w.begun[host] = !record.Done
		return "change"
	case s.Module == engine.RevertModule:
		var v engine.Revert
		if err := json.Unmarshal(s.Args, &v); err != nil {
			panic(err)
		}
		if v.Run != w.changer || !v.InRollout || v.AfterFiles || !strings.HasSuffix(v.Task, w.task) || !w.new[host] {
			return "ok"
		}
		if w.stuck[host] {
			return "fail"
		}
		note("back")
		delete(w.new, host)
		return "change"
	case s.Name == "config":
		if w.new[host] {
			return "ok"
		}
		if !check {
			note("change")
			w.new[host], w.inside[host] = true, true
			w.most = max(w.most, len(w.inside))
			if w.pause > 0 {
				w.mu.Unlock()
				time.Sleep(w.pause)
				w.mu.Lock()
			}
		}
		return "change"
	case s.Name == "healthy":
		if check {
			return "ok"
		}
		delete(w.inside, host)
		if w.lose[host] {
			return "lose"
		}
		if w.new[host] && w.allergy[host] {
			note("sick")
			return "fail"
		}
		if w.new[host] || slices.Contains(w.log, host+" back") {
			note("healthy")
		}
	}
	return "ok"
}

const rolloutBook = `
- hosts: all
  tasks:
    - name: settings
      rollout: {canary: [minions, masters], max_parallel: %s, one_at_a_time: [masters]}
      block:
        - {name: config, do: {}}
        - {name: healthy, gate: {}}
    - {name: after, do: {}}
`

func rolled(w *rolloutHosts, masters, minions int) *scenario {
	s := &scenario{fleet: newFleet(), inv: inventory{groups: map[string][]string{"masters": nil, "minions": nil}}}
	for i := range masters {
		s.inv.groups["masters"] = append(s.inv.groups["masters"], fmt.Sprintf("m%d", i+1))
	}
	for i := range minions {
		s.inv.groups["minions"] = append(s.inv.groups["minions"], fmt.Sprintf("n%d", i+1))
	}
	s.inv.hosts = slices.Concat(s.inv.groups["masters"], s.inv.groups["minions"])
	s.fleet.onSegment = w.step
	s.fleet.pending = func(host string) []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.begun[host] {
			return []string{"site.yaml/rollout/settings"}
		}
		return nil
	}
	return s
}

// TestRolloutCanariesFirst: a rollout changes and proves one minion, then one master, each
// alone, then the rest within the limits.
func TestRolloutCanariesFirst(t *testing.T) {
	w := newRolloutHosts()
	w.pause = time.Millisecond
	s := rolled(w, 3, 20)
	r := s.run(t, t.Context(), fmt.Sprintf(rolloutBook, "10%"))
	if r.Outcome() != engine.OutcomeDone || len(w.new) != 23 {
		t.Fatalf("%s, %d hosts changed\n%s", r.Outcome(), len(w.new), summary(r))
	}
	canaries := w.log[:4]
	minion, master := strings.Fields(canaries[0])[0], strings.Fields(canaries[2])[0]
	if diff := cmp.Diff([]string{minion + " change", minion + " healthy", master + " change", master + " healthy"}, canaries); diff != "" || minion[0] != 'n' || master[0] != 'm' {
		t.Errorf("the first steps are %v", canaries)
	}
	if w.most > 2 {
		t.Errorf("%d of 23 hosts were changed at once, want 10%% at most, which are 2", w.most)
	}
	last := ""
	for _, l := range w.log {
		if host, word, _ := strings.Cut(l, " "); host[0] == 'm' {
			if word == "change" && last == "change" {
				t.Errorf("two masters were changed at once: %v", w.log)
			}
			last = word
		}
	}
}

// TestRolloutStops: a host that fails with the change is restored, the run ends, and
// no other host is changed.
func TestRolloutStops(t *testing.T) {
	all := map[string]bool{}
	for i := range 6 {
		all[fmt.Sprintf("n%d", i)], all[fmt.Sprintf("m%d", i)] = true, true
	}
	t.Run("at the canary", func(t *testing.T) {
		w := newRolloutHosts()
		w.allergy = all
		r := rolled(w, 3, 5).run(t, t.Context(), fmt.Sprintf(rolloutBook, "10%"))
		who := strings.Fields(w.log[0])[0]
		if diff := cmp.Diff([]string{who + " change", who + " sick", who + " back", who + " healthy"}, w.log); diff != "" {
			t.Error(diff)
		}
		if r.Outcome() != engine.OutcomeRestored || len(w.new) != 0 {
			t.Errorf("outcome %q, changed are %v", r.Outcome(), w.new)
		}
		want := fmt.Sprintf(`the rollout of "settings" has stopped: %s failed at "healthy" after it was changed; it was restored (1 step) and passes its checks again; 7 other hosts were not changed by it`, who)
		if r.Aborted != want {
			t.Errorf("aborted: %s\nwant:    %s", r.Aborted, want)
		}
	})
	t.Run("at the master, after a good minion", func(t *testing.T) {
		w := newRolloutHosts()
		w.allergy = map[string]bool{"m1": true, "m2": true, "m3": true}
		r := rolled(w, 3, 5).run(t, t.Context(), fmt.Sprintf(rolloutBook, "10%"))
		if len(w.new) != 1 || w.new["m1"] || w.new["m2"] || w.new["m3"] || r.Outcome() != engine.OutcomeRestored {
			t.Errorf("outcome %q, changed are %v; want one minion", r.Outcome(), w.new)
		}
	})
	t.Run("in the middle: those who are inside prove themselves", func(t *testing.T) {
		w := newRolloutHosts()
		w.pause = 5 * time.Millisecond
		w.allergy["n4"] = true
		r := rolled(w, 1, 30).run(t, t.Context(), fmt.Sprintf(rolloutBook, "4"))
		if len(w.inside) > 0 || w.new["n4"] || len(w.new) == 31-1 {
			t.Errorf("inside %v, changed %v", w.inside, w.new)
		}
		if r.Outcome() != engine.OutcomeRestored {
			t.Errorf("outcome %q: %s\n%s", r.Outcome(), r.Aborted, summary(r))
		}
	})
	t.Run("restoring fails", func(t *testing.T) {
		w := newRolloutHosts()
		w.allergy, w.stuck = all, all
		r := rolled(w, 3, 5).run(t, t.Context(), fmt.Sprintf(rolloutBook, "10%"))
		if r.Outcome() != engine.OutcomeAborted || len(w.new) != 1 || !strings.Contains(r.Aborted, "it is not in its previous state: ") {
			t.Errorf("outcome %q, changed %v: %s", r.Outcome(), w.new, r.Aborted)
		}
	})
	t.Run("left for a look", func(t *testing.T) {
		w := newRolloutHosts()
		w.allergy = all
		s := rolled(w, 3, 5)
		s.opts = func(o *Options) { o.NoRestore = true }
		r := s.run(t, t.Context(), fmt.Sprintf(rolloutBook, "10%"))
		if r.Outcome() != engine.OutcomeAborted || len(w.new) != 1 || len(w.log) != 2 {
			t.Errorf("outcome %q, changed %v: %v", r.Outcome(), w.new, w.log)
		}
	})
	t.Run("the canary is lost", func(t *testing.T) {
		w := newRolloutHosts()
		for h := range all {
			w.lose[h] = true
		}
		r := rolled(w, 3, 5).run(t, t.Context(), fmt.Sprintf(rolloutBook, "10%"))
		if r.Outcome() != engine.OutcomeAborted || len(w.new) != 1 || !strings.Contains(r.Aborted, "was lost while it was changed") {
			t.Errorf("outcome %q, changed %v: %s", r.Outcome(), w.new, r.Aborted)
		}
	})
}

// TestRolloutStopLeavesOthers: hosts on which nothing changes wait for no host and
// execute the block once, in the preview; a host that was away is no canary.
func TestRolloutStopLeavesOthers(t *testing.T) {
	w := newRolloutHosts()
	s := rolled(w, 3, 20)
	for _, h := range s.inv.hosts {
		w.new[h] = h != "n7" && h != "n9"
	}
	delete(w.new, "n7")
	delete(w.new, "n9")
	s.fleet.connect = func(host string, _ int) error {
		if host == "n7" {
			return fmt.Errorf("no route to host")
		}
		return nil
	}
	r := s.run(t, t.Context(), fmt.Sprintf(rolloutBook, "10%"))
	if diff := cmp.Diff([]string{"n9 change", "n9 healthy"}, w.log); diff != "" {
		t.Error(diff)
	}
	for _, h := range r.Hosts {
		want := "ok=3 changed=0"
		switch h.Host {
		case "n7":
			want = "ok=0 changed=0"
		case "n9":
			want = "ok=2 changed=1"
		}
		if got := fmt.Sprintf("ok=%d changed=%d", h.OK, h.Changed); got != want {
			t.Errorf("%s: %s, want %s", h.Host, got, want)
		}
		if n := s.fleet.flights[h.Host]; h.Host == "n1" && n != 2 { // the preview, and what comes after the block
			t.Errorf("%s was sent %d segments, want 2", h.Host, n)
		}
	}
}

// TestRolloutNotInForce: a block whose rollout condition is false is a block without
// rollout, and a failure in it restores nothing.
func TestRolloutNotInForce(t *testing.T) {
	w := newRolloutHosts()
	w.pause = 20 * time.Millisecond
	w.allergy["n3"] = true
	s := rolled(w, 1, 9)
	r := s.run(t, t.Context(), strings.Replace(fmt.Sprintf(rolloutBook, "1"), "rollout: {", "rollout: {when: n > 100, ", 1))
	if w.most < 5 {
		t.Errorf("at most %d hosts were changed at once, want all", w.most)
	}
	if len(w.new) != 10 || r.Outcome() != engine.OutcomePartial {
		t.Errorf("outcome %q, changed %v", r.Outcome(), w.new)
	}
}

// TestRolloutInterrupted: an interrupt during the change of a host ends the rollout after
// this host has proved its change; no other host is changed.
func TestRolloutInterrupted(t *testing.T) {
	w := newRolloutHosts()
	interrupt := make(chan struct{})
	s := rolled(w, 1, 6)
	s.opts = func(o *Options) { o.Interrupt = interrupt }
	s.fleet.onSegment = func(host string, check bool, step engine.Step) string {
		did := w.step(host, check, step)
		if did == "change" && step.Name == "config" && !check {
			close(interrupt)
			time.Sleep(50 * time.Millisecond) // time for the run to handle the interrupt
		}
		return did
	}
	r := s.run(t, t.Context(), fmt.Sprintf(rolloutBook, "10%"))
	if len(w.log) != 2 || !strings.HasSuffix(w.log[1], " healthy") {
		t.Errorf("what happened: %v", w.log)
	}
	if r.Outcome() != engine.OutcomeInterrupted {
		t.Errorf("outcome %q\n%s", r.Outcome(), summary(r))
	}
}

// TestRolloutRunsHandlers: a handler that has made the change effective makes the
// restored files effective as well.
func TestRolloutRunsHandlers(t *testing.T) {
	w := newRolloutHosts()
	w.allergy["h1"] = true
	s := of(1)
	var restarts int
	s.fleet.onSegment = func(host string, check bool, step engine.Step) string {
		if step.Name == "restart" && !check {
			restarts++
			return "change"
		}
		return w.step(host, check, step)
	}
	r := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - rollout:
      block:
        - {name: config, do: {}, notify: restart}
        - meta: flush_handlers
        - {name: healthy, gate: {}}
  handlers:
    - {name: restart, do: {}}
`)
	if restarts != 2 || w.new["h1"] || r.Outcome() != engine.OutcomeRestored {
		t.Errorf("%d restarts, want one for the change and one for its end; %s: %s", restarts, r.Outcome(), r.Aborted)
	}
}

// TestRolloutOfAPlan: the steps of a rollout are compared with the applied plan; a
// restore is not, because no plan contains it.
func TestRolloutOfAPlan(t *testing.T) {
	w := newRolloutHosts()
	w.allergy["h1"] = true
	s := of(1)
	var asked []string
	s.opts = func(o *Options) {
		o.Expect = func(_, step string) *engine.Expect {
			asked = append(asked, step)
			return &engine.Expect{}
		}
	}
	var expected []string
	s.fleet.onSegment = func(host string, check bool, step engine.Step) string {
		if step.Expect != nil {
			expected = append(expected, step.ID)
		}
		return w.step(host, check, step)
	}
	s.run(t, t.Context(), `
- hosts: all
  tasks:
    - rollout:
      block: [{name: config, do: {}}, {name: healthy, gate: {}}]
`)
	if diff := cmp.Diff([]string{"1.play.1", "1.play.2"}, asked); diff != "" {
		t.Errorf("asked for: %s", diff)
	}
	if diff := cmp.Diff(asked, expected); diff != "" {
		t.Errorf("sent with what the plan allows: %s", diff)
	}
	if w.new["h1"] {
		t.Error("it was not restored")
	}
}

// TestRolloutPreviewRunsNoGates: a gate on the controller waits for the effect of the
// steps before it, so it runs after these steps and never in the preview.
func TestRolloutPreviewRunsNoGates(t *testing.T) {
	w := newRolloutHosts()
	s := rolled(w, 1, 3)
	s.fleet.action = func(_ context.Context, _ string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.log = append(w.log, fmt.Sprintf("%s asked, changed: %t", actx.Host(), w.new[actx.Host()]))
		return nil, nil
	}
	r := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - rollout: {canary: [minions, masters]}
      block:
        - {name: config, do: {}}
        - {name: serves, act: {gate: true}}
        - {name: healthy, gate: {}}
`)
	if r.Outcome() != engine.OutcomeDone {
		t.Errorf("outcome %q: %+v", r.Outcome(), r.Hosts)
	}
	var asked []string
	for _, line := range w.log {
		if strings.Contains(line, " asked") {
			asked = append(asked, line)
		}
	}
	slices.Sort(asked)
	want := []string{"m1 asked, changed: true", "n1 asked, changed: true", "n2 asked, changed: true", "n3 asked, changed: true"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

// TestRolloutOfABrokenHost: a host on which nothing changes and whose check fails is
// a failed host: it is no canary, and the rollout continues.
func TestRolloutOfABrokenHost(t *testing.T) {
	w := newRolloutHosts()
	w.new["n1"] = true
	s := rolled(w, 1, 3)
	var checks int
	s.fleet.onSegment = func(host string, check bool, step engine.Step) string {
		if host == "n1" && step.Name == "healthy" {
			checks++
			return "fail"
		}
		return w.step(host, check, step)
	}
	r := s.run(t, t.Context(), fmt.Sprintf(rolloutBook, "10%"))
	if len(w.new) != 4 || r.Outcome() != engine.OutcomePartial || checks != 1 {
		t.Errorf("outcome %q, changed %v, %d checks of the broken host\n%s", r.Outcome(), w.new, checks, summary(r))
	}
	if rep := r.Hosts[1]; rep.Failure == nil || rep.Failed != 1 || rep.FailedStep != "healthy" || rep.Restored != nil {
		t.Errorf("n1: %+v", rep)
	}
}

// TestRolloutsAtRandom is a property test. Random hosts have the change already, fail
// with it, lose their connection, or cannot be restored. The run ends without hosts
// that wait for each other, no more hosts are inside than the limits permit, and a
// host that fails with the change keeps it only where it could not be restored.
func TestRolloutsAtRandom(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 3))
		masters, minions := 1+rng.IntN(4), rng.IntN(12)
		w := newRolloutHosts()
		s := rolled(w, masters, minions)
		bound := 1 + rng.IntN(4)
		away := map[string]bool{}
		for _, h := range s.inv.hosts {
			switch rng.IntN(12) {
			case 0, 1, 2:
				w.new[h] = true
			case 3:
				w.allergy[h] = true
			case 4:
				w.allergy[h], w.stuck[h] = true, true
			case 5:
				w.lose[h] = true
			case 6:
				away[h] = true
			}
		}
		if rng.IntN(2) == 0 {
			clear(w.allergy)
			clear(w.lose)
		}
		s.fleet.connect = func(host string, _ int) error {
			if away[host] {
				return fmt.Errorf("no route to host")
			}
			return nil
		}
		s.opts = func(o *Options) {
			o.Budget = map[string]limit.Limit{}
			o.Forks = 1 + rng.IntN(20)
		}
		r := s.run(t, t.Context(), strings.Replace(fmt.Sprintf(rolloutBook, fmt.Sprint(bound)),
			"    - {name: after, do: {}}", `    - {name: ready, do: {}, label: ready}
    - rollout: {canary: [masters], max_parallel: 2}
      needs: [{label: ready, count: 1}]
      block: [{name: second, do: {}}]
    - {name: after, do: {}}`, 1))
		if strings.Contains(r.Aborted, errDeadlock.Error()) {
			t.Fatalf("seed %d: %s\n%s", seed, r.Aborted, summary(r))
		}
		if w.most > bound {
			t.Fatalf("seed %d: %d hosts were inside, %d may be", seed, w.most, bound)
		}
		for _, rep := range r.Hosts {
			h := rep.Host
			if w.allergy[h] && w.new[h] && !w.stuck[h] && !w.lose[h] {
				t.Fatalf("seed %d: %s has what it does not bear\n%s", seed, h, summary(r))
			}
			if rep.Restored != nil && rep.Restored.Clean() == (w.stuck[h] || w.lose[h]) {
				t.Fatalf("seed %d: %s: %s", seed, h, rep.Restored)
			}
		}
		if r.Aborted == "" && len(w.allergy)+len(w.lose) == 0 {
			for _, h := range s.inv.hosts {
				if !w.new[h] && !away[h] {
					t.Fatalf("seed %d: %s was left out\n%s", seed, h, summary(r))
				}
			}
		}
	}
}

// TestRolloutSteps: steps are computed once, also from an expression; hosts of one
// step end before those of the next begin, and a failure beyond a group's budget
// stops the rollout.
func TestRolloutSteps(t *testing.T) {
	book := func(steps string) string {
		return strings.Replace(fmt.Sprintf(rolloutBook, "100%"), "canary: [minions, masters]", "canary: [], steps: "+steps, 1)
	}
	const list = `[{hosts: [n3, n4]}, {parallel: [{hosts: minions, max_parallel: 1, max_fail: 1}, {hosts: [masters]}]}]`
	changed := func(w *rolloutHosts) (out []string) {
		for _, line := range w.log {
			if host, ok := strings.CutSuffix(line, " change"); ok {
				out = append(out, host)
			}
		}
		return out
	}
	for name, steps := range map[string]string{"written": list, "computed": `"{{ order }}"`} {
		w := newRolloutHosts()
		w.pause = 2 * time.Millisecond
		s := rolled(w, 2, 5)
		r := s.run(t, t.Context(), strings.Replace(book(steps), "- hosts: all\n", "- hosts: all\n  vars: {order: "+list+"}\n", 1))
		got := changed(w)
		first := slices.Sorted(slices.Values(got[:min(2, len(got))]))
		if diff := cmp.Diff([]string{"n3", "n4"}, first); diff != "" || len(got) != 7 || r.Outcome() != engine.OutcomeDone {
			t.Errorf("%s: %v, %s\n%s", name, got, r.Outcome(), summary(r))
		}
	}
	w := newRolloutHosts()
	w.allergy = map[string]bool{"n1": true, "n2": true, "n5": true}
	s := rolled(w, 0, 5)
	r := s.run(t, t.Context(), book(list))
	if !strings.Contains(r.Aborted, `the rollout of "settings" has stopped`) || len(changed(w)) != 4 {
		t.Errorf("the second failure of a group with a budget of one: %q, changed %v", r.Aborted, changed(w))
	}
}
