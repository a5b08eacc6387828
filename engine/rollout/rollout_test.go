package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/limit"
)

func set(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// TestOrder executes scripts of rollouts: "wait h", "pass h", "lost h", "ok h", "same
// h", "fail h". The hosts that enter stand behind =>.
func TestOrder(t *testing.T) {
	tests := map[string]struct {
		rules   Rules
		maxFail int
		steps   []string
	}{
		"a minion, then a master, then the rest two at a time": {
			Rules{Canary: []map[string]bool{set("n1", "n2", "n3"), set("m1", "m2")}, OneAtATime: []map[string]bool{set("m1", "m2")}}, 0,
			[]string{"wait m1 =>", "wait n2 => n2", "wait n1 =>", "wait n3 =>", "wait m2 =>",
				"ok n2 => m1", "ok m1 => m2 n1", "ok n1 => n3", "ok m2 =>", "ok n3 =>"},
		},
		"a group in which nothing changes has no canary": {
			Rules{Canary: []map[string]bool{set("n1", "n2"), set("m1", "m2", "m3")}, OneAtATime: []map[string]bool{set("m1", "m2", "m3")}}, 0,
			[]string{"wait m1 =>", "pass n1 =>", "pass n2 => m1", "wait m2 =>", "ok m1 => m2", "wait m3 =>", "ok m2 => m3"},
		},
		"an unchanged host is no canary": {
			Rules{Canary: []map[string]bool{set("a", "b", "c")}}, 0,
			[]string{"wait a => a", "wait b =>", "same a => b", "wait c =>", "ok b => c"},
		},
		"a failed canary stops the rollout": {
			Rules{Canary: []map[string]bool{set("a", "b", "c")}}, 5,
			[]string{"wait a => a", "wait b =>", "fail a =>", "wait c =>", "stopped"},
		},
		"max_fail applies after the canaries": {
			Rules{Canary: []map[string]bool{set("a", "b", "c", "d", "e")}}, 1,
			[]string{"wait a => a", "wait b =>", "wait c =>", "ok a => b c", "fail b =>", "wait d => d", "fail c =>", "wait e =>", "stopped"},
		},
		"only a host that is lost inside counts as failed": {
			Rules{Canary: []map[string]bool{set("a", "b", "c")}}, 0,
			[]string{"wait b => b", "wait a =>", "lost a =>", "lost b =>", "wait c =>", "stopped"},
		},
		"one host is both canaries": {
			Rules{Canary: []map[string]bool{set("a"), set("a")}}, 0,
			[]string{"wait a => a", "ok a =>"},
		},
		"two canaries of each group": {
			Rules{Canary: []map[string]bool{set("n1", "n2", "n3"), set("m1")}, Canaries: 2}, 0,
			[]string{"wait n1 => n1", "wait n2 =>", "wait n3 =>", "wait m1 =>", "ok n1 => n2", "ok n2 => m1", "ok m1 => n3"},
		},
		"a pause after the canaries": {
			Rules{Canary: []map[string]bool{set("a", "b", "c")}, Pause: true}, 0,
			[]string{"wait a => a", "wait b =>", "ok a =>", "wait c =>", "paused"},
		},
		"no pause without other hosts": {
			Rules{Canary: []map[string]bool{set("a", "b")}, Pause: true}, 0,
			[]string{"wait a => a", "ok a =>", "pass b =>", "running"},
		},
		"a failed critical host stops the rollout": {
			Rules{Critical: set("b")}, 5,
			[]string{"wait a => a", "wait b => b", "wait c =>", "fail a => c", "fail b =>", "wait d =>", "stopped"},
		},
		"without canaries": {
			Rules{}, 0,
			[]string{"wait a => a", "wait b => b", "wait c =>", "ok a => c"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			hosts := []string{"m1", "m2", "m3", "n1", "n2", "n3", "a", "b", "c", "d", "e"}
			members := slices.DeleteFunc(slices.Clone(hosts), func(h string) bool {
				return !slices.ContainsFunc(tt.steps, func(s string) bool { return strings.Contains(s+" ", " "+h+" ") })
			})
			r := New(tt.rules, members)
			for _, step := range tt.steps {
				if step == "paused" || step == "running" {
					if r.Paused() != (step == "paused") {
						t.Errorf("not %s", step)
					}
					continue
				}
				if step == "stopped" {
					if !r.Stopped() {
						t.Error("not stopped")
					}
					continue
				}
				does, want, _ := strings.Cut(step, "=>")
				word, host, _ := strings.Cut(strings.TrimSpace(does), " ")
				switch word {
				case "wait":
					r.Wait(Entrant{Host: host, Order: slices.Index(hosts, host), MaxParallel: 2, MaxFail: tt.maxFail})
				case "pass":
					r.Pass(host)
				case "lost":
					r.Withdraw(host)
				case "ok":
					r.Leave(host, Proved)
				case "same":
					r.Leave(host, Unchanged)
				case "fail":
					r.Leave(host, Failed)
				}
				if diff := cmp.Diff(strings.Fields(want), r.Next(), cmp.Transformer("nil", func(s []string) string { return fmt.Sprint(s) })); diff != "" {
					t.Fatalf("%s: %s", step, diff)
				}
			}
		})
	}
}

// TestTurnsOverValues checks the order of hosts that take turns over zones, and the limit
// for hosts of a zone.
func TestTurnsOverValues(t *testing.T) {
	r := New(Rules{}, []string{"a1", "a2", "a3", "a4", "b1", "c1"})
	half := limit.Limit{Percent: 50, Share: true}
	for i, h := range []string{"a1", "a2", "a3", "a4", "b1", "c1"} {
		r.Wait(Entrant{Host: h, Order: i, MaxParallel: 10, Spread: h[:1], Domains: []Domain{{h[:1], half}}})
	}
	if got := fmt.Sprint(r.Next()); got != "[a1 b1 c1 a2]" {
		t.Errorf("first %s", got)
	}
	r.Leave("b1", Proved)
	if got := fmt.Sprint(r.Next()); got != "[]" {
		t.Errorf("then %s", got)
	}
	r.Leave("a1", Proved)
	if got := fmt.Sprint(r.Next()); got != "[a3]" {
		t.Errorf("at last %s", got)
	}
}

// TestHostOfTwoDomains checks that a host enters when both of its domains have room.
func TestHostOfTwoDomains(t *testing.T) {
	hosts := []string{"a1", "a2", "b1", "b2"} // zone and rack
	r := New(Rules{}, hosts)
	for i, h := range hosts {
		r.Wait(Entrant{Host: h, Order: i, MaxParallel: 10, Domains: []Domain{{"zone " + h[:1], limit.Limit{Count: 2}}, {"rack " + h[1:], limit.Limit{Count: 1}}}})
	}
	if got := fmt.Sprint(r.Next()); got != "[a1 a2]" {
		t.Errorf("first %s", got)
	}
	r.Leave("a2", Proved)
	if got := fmt.Sprint(r.Next()); got != "[b2]" {
		t.Errorf("then %s", got)
	}
}

// TestAfterInterruptedRun follows a rollout over hosts that an earlier run has left inside.
func TestAfterInterruptedRun(t *testing.T) {
	hosts := []string{"failed", "fresh1", "cordoned1", "cordoned2", "changed1", "changed2", "fresh2"}
	group := map[string]bool{}
	for _, h := range hosts {
		group[h] = true
	}
	r := New(Rules{Canary: []map[string]bool{group}}, hosts)
	step := func(what, want string) {
		t.Helper()
		if got := strings.Trim(fmt.Sprint(r.Next()), "[]"); got != want {
			t.Errorf("after %s enter %q, want %q", what, got, want)
		}
	}
	wait := func(h string) {
		changed, cordoned := strings.HasPrefix(h, "changed"), strings.HasPrefix(h, "cordoned")
		r.Wait(Entrant{Host: h, Order: slices.Index(hosts, h), MaxParallel: 3, MaxFail: 2,
			Interrupted: changed || cordoned, Finishing: changed, FailedBefore: h == "failed"})
	}
	wait("failed")
	step("a host that failed waits", "")
	wait("changed1")
	wait("changed2")
	step("two hosts lack only their end", "changed1 changed2")
	wait("fresh1")
	wait("cordoned1")
	step("others wait", "cordoned1")
	wait("cordoned2")
	wait("fresh2")
	r.Leave("changed1", Unchanged)
	step("the canary is inside", "")
	r.Leave("changed2", Failed)
	if r.Stopped() {
		t.Error("the failure of a host that was no canary stopped the rollout")
	}
	r.Leave("cordoned1", Proved)
	step("the canary has proved the change", "cordoned2 fresh1 fresh2")
	r.Leave("fresh1", Proved)
	step("a place is free", "failed")
}

// TestLeftInside: hosts that an earlier run has left inside count for other hosts and
// for canaries before they are decided, and enter before the canary of another group.
func TestLeftInside(t *testing.T) {
	zone := []Domain{{"a", limit.Limit{Count: 2}}}
	r := New(Rules{Canary: []map[string]bool{set("n1", "n2", "n3"), set("m1")}}, []string{"n1", "n2", "n3", "m1"})
	r.LeftInside("m1")
	r.LeftInside("n2")
	step := func(what, want string) {
		t.Helper()
		if got := strings.Trim(fmt.Sprint(r.Next()), "[]"); got != want {
			t.Errorf("after %s enter %q, want %q", what, got, want)
		}
	}
	r.Wait(Entrant{Host: "n1", MaxParallel: 3, Domains: zone})
	step("a fresh host beside two that are out of service somewhere", "")
	r.Wait(Entrant{Host: "m1", Order: 3, MaxParallel: 3, Domains: zone, Interrupted: true})
	step("one of them waits, and the zone has no room for a fresh canary", "m1")
	r.Wait(Entrant{Host: "n2", Order: 1, MaxParallel: 3, Domains: zone, Interrupted: true})
	step("the other one waits", "")
	r.Leave("m1", Proved)
	step("the first one is through", "n2")
	r.Leave("n2", Proved)
	r.Withdraw("n3")
	step("the second one, too", "n1")
}

// world is a random rollout with an observer's record of it.
type world struct {
	rng      *rand.Rand
	rollout  *Rollout
	canaries int
	pause    bool
	groups   []map[string]bool // of canaries, in order
	single   map[string]bool   // one at a time
	critical map[string]bool
	entrants map[string]Entrant // as they would wait
	hosts    []string

	undecided               []string
	waiting, inside, proved map[string]bool
	domains, entered        map[string]int
	failed                  int
	stops                   bool // a failure must have stopped the rollout
}

func newWorld(seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &world{rng: rng, canaries: 1 + rng.IntN(2), pause: rng.IntN(5) == 0, single: map[string]bool{}, critical: map[string]bool{}, entrants: map[string]Entrant{},
		waiting: map[string]bool{}, inside: map[string]bool{}, proved: map[string]bool{}, domains: map[string]int{}, entered: map[string]int{}}
	minions := map[string]bool{}
	limits := Entrant{MaxParallel: 1 + rng.IntN(4), MaxFail: rng.IntN(3)}
	var maxima []limit.Limit // of up to two properties
	for range rng.IntN(3) {
		most := limit.Limit{Count: rng.IntN(3)}
		if rng.IntN(2) == 0 {
			most = limit.Limit{Percent: float64(rng.IntN(100)), Share: true}
		}
		maxima = append(maxima, most)
	}
	spreads, criticals, resumed := rng.IntN(2) == 0, rng.IntN(4) == 0, rng.IntN(2) == 0
	for i := range 1 + rng.IntN(12) {
		h := fmt.Sprintf("h%d", i)
		w.hosts = append(w.hosts, h)
		if rng.IntN(3) == 0 {
			w.single[h] = true
		} else {
			minions[h] = true
		}
		if criticals && rng.IntN(4) == 0 {
			w.critical[h] = true
		}
		e := limits
		e.Host, e.Order = h, i
		for n, most := range maxima {
			e.Domains = append(e.Domains, Domain{fmt.Sprintf("%d%c", n, 'a'+rng.IntN(3)), most})
		}
		if resumed {
			e.Interrupted, e.FailedBefore = rng.IntN(4) == 0, rng.IntN(4) == 0
			e.Finishing = e.Interrupted && rng.IntN(2) == 0
		}
		if spreads {
			e.Spread = string(rune('a' + rng.IntN(3)))
		}
		w.entrants[h] = e
	}
	if rng.IntN(4) > 0 {
		w.groups = []map[string]bool{minions, w.single}
	}
	w.undecided = slices.Clone(w.hosts)
	w.rollout = New(Rules{Canary: w.groups, Canaries: w.canaries, OneAtATime: []map[string]bool{w.single}, Critical: w.critical, Pause: w.pause}, w.hosts)
	for _, h := range w.hosts {
		if w.entrants[h].Interrupted {
			w.rollout.LeftInside(h)
		}
	}
	return w
}

// decide decides about a host at random.
func (w *world) decide() {
	i := w.rng.IntN(len(w.undecided))
	h := w.undecided[i]
	w.undecided = slices.Delete(w.undecided, i, i+1)
	switch e := w.entrants[h]; w.rng.IntN(5) {
	case 0:
		w.rollout.PassIn(h, e.Domains)
		w.decided(e)
	case 1:
		w.rollout.Withdraw(h)
	default:
		w.rollout.Wait(e)
		w.waiting[h] = true
		w.decided(e)
	}
}

// decided counts a host in its domains.
func (w *world) decided(e Entrant) {
	for _, d := range e.Domains {
		w.domains[d.Name]++
	}
}

// leave ends the stay of a host with a random outcome.
func (w *world) leave(failing bool) {
	h := slices.Sorted(keys(w.inside))[w.rng.IntN(len(w.inside))]
	delete(w.inside, h)
	switch {
	case failing && w.rng.IntN(3) == 0:
		canary := w.rollout.IsCanary(h)
		w.rollout.Leave(h, Failed)
		w.failed++
		w.stops = w.stops || canary || w.critical[h] || w.failed > w.entrants[h].MaxFail
	case w.rng.IntN(5) == 0:
		w.rollout.Leave(h, Unchanged)
	default:
		w.rollout.Leave(h, Proved)
		w.proved[h] = true
	}
}

// needsCanary returns the first group that needs a canary; nil for none.
func (w *world) needsCanary() map[string]bool {
	for _, group := range w.groups {
		may := count(group, w.inside) + count(group, w.waiting)
		for _, h := range w.undecided {
			if group[h] {
				may++
			}
		}
		if count(group, w.proved) < w.canaries && may > 0 {
			return group
		}
	}
	return nil
}

// full reports whether a domain of a waiting host has no room for it.
func (w *world) full(e Entrant) bool {
	return slices.ContainsFunc(e.Domains, func(d Domain) bool {
		inside := w.insideOf(!e.Interrupted, func(o Entrant) bool {
			return o.Host != e.Host && slices.ContainsFunc(o.Domains, func(other Domain) bool { return other.Name == d.Name })
		})
		return inside+w.unknown(e) >= max(d.Max.Of(w.domains[d.Name]), 1)
	})
}

// unknown counts the interrupted hosts of unknown domains that count as inside for e.
func (w *world) unknown(e Entrant) (n int) {
	for _, h := range w.undecided {
		if w.entrants[h].Interrupted && !e.Interrupted {
			n++
		}
	}
	return n
}

// beyond reports whether one more host would exceed the limits of e.
func (w *world) beyond(e Entrant) bool {
	return w.full(e) || w.insideOf(!e.Interrupted, func(Entrant) bool { return true })+w.unknown(e) >= e.MaxParallel
}

// insideOf counts the hosts inside that match; with waiting, the interrupted ones that wait
// too.
func (w *world) insideOf(waiting bool, match func(Entrant) bool) (n int) {
	for h := range w.inside {
		if match(w.entrants[h]) {
			n++
		}
	}
	for h := range w.waiting {
		if e := w.entrants[h]; waiting && e.Interrupted && match(e) {
			n++
		}
	}
	return n
}

// barred reports whether a rule keeps a waiting host out.
func (w *world) barred(e Entrant, group map[string]bool) bool {
	single := w.single[e.Host] && count(w.single, w.inside) > 0
	if e.Finishing || single {
		return single
	}
	if group == nil {
		return w.beyond(e)
	}
	if w.insideOf(false, func(o Entrant) bool { return !o.Finishing }) > 0 || len(w.inside) >= e.MaxParallel {
		return true
	}
	if w.mayBeCanary(e, group) {
		return false
	}
	// A host that is out of service may be the reason why no canary of the group may
	// enter.
	return !e.Interrupted || slices.ContainsFunc(w.hosts, func(h string) bool {
		return w.waiting[h] && w.mayBeCanary(w.entrants[h], group) && (!w.single[h] || count(w.single, w.inside) == 0)
	})
}

// mayBeCanary reports whether a waiting host may be the canary of a group, when nobody is
// inside.
func (w *world) mayBeCanary(e Entrant, group map[string]bool) bool {
	if !group[e.Host] || !e.Interrupted && w.beyond(e) {
		return false
	}
	other := slices.ContainsFunc(w.undecided, func(h string) bool { return group[h] })
	for h := range w.waiting {
		other = other || group[h] && !w.entrants[h].FailedBefore
	}
	return !e.FailedBefore || !other
}

// turn orders entrants: those that are finishing, interrupted ones, and last those that
// failed before.
func (w *world) turn(e Entrant) []int {
	failed, interrupted, finishing := 0, 1, 1
	if e.Interrupted {
		interrupted = 0
	} else if e.FailedBefore {
		failed = 1
	}
	if e.Finishing {
		finishing = 0
	}
	return []int{finishing, interrupted, failed, w.entered[e.Spread], e.Order}
}

// enter checks the entry of a host and returns the violated rule; "" for none.
func (w *world) enter(h string) string {
	e, group := w.entrants[h], w.needsCanary()
	wanted := group != nil && !e.Finishing
	switch {
	case w.barred(e, group):
		return "a rule bars it"
	case w.rollout.IsCanary(h) != wanted:
		return fmt.Sprintf("it counts as a canary: %t", !wanted)
	case group == nil && !e.Finishing && w.pause && len(w.groups) > 0 && len(w.proved) > 0:
		return "the rollout pauses"
	}
	for other := range w.waiting {
		if o := w.entrants[other]; other != h && !w.barred(o, group) && slices.Compare(w.turn(o), w.turn(e)) < 0 {
			return "it was the turn of " + other
		}
	}
	delete(w.waiting, h)
	w.inside[h] = true
	w.entered[e.Spread]++
	return ""
}

// TestInvariants runs random rollouts. Canaries are alone and come before all other
// hosts, all limits hold, and hosts take turns over values. A failure of a canary or
// of a critical host stops the rollout, and no host enters after that. A rollout that
// does not stop ends when all hosts have left. In half of the rollouts an earlier run
// has left hosts inside.
func TestInvariants(t *testing.T) {
	for seed := range uint64(4000) {
		w := newWorld(seed)
		failing := w.rng.IntN(3) == 0
		for len(w.undecided) > 0 || len(w.inside) > 0 {
			if len(w.undecided) > 0 && (len(w.inside) == 0 || w.rng.IntN(2) == 0) {
				w.decide()
			} else {
				w.leave(failing)
			}
			stopped := w.rollout.Stopped()
			if stopped != w.stops {
				t.Fatalf("seed %d: stopped is %t, want %t, after %d failures", seed, stopped, w.stops, w.failed)
			}
			for _, h := range w.rollout.Next() {
				if stopped {
					t.Fatalf("seed %d: %s entered after the rollout had stopped", seed, h)
				}
				if wrong := w.enter(h); wrong != "" {
					t.Fatalf("seed %d: %s entered: %s", seed, h, wrong)
				}
			}
		}
		if w.rollout.Paused() {
			if !w.pause || len(w.groups) == 0 || w.needsCanary() != nil || len(w.waiting) == 0 {
				t.Fatalf("seed %d: the rollout pauses without a reason", seed)
			}
			continue
		}
		if !w.rollout.Stopped() && len(w.waiting) > 0 {
			t.Fatalf("seed %d: %d hosts wait for ever", seed, len(w.waiting))
		}
	}
}

func keys(m map[string]bool) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func count(a, b map[string]bool) (n int) {
	for h := range b {
		if a[h] {
			n++
		}
	}
	return n
}
