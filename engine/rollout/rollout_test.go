package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func set(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// TestOrder follows rollouts word by word: "wait h", "pass h", "lost h", "ok h",
// "same h", "fail h". Behind => are the hosts that go in.
func TestOrder(t *testing.T) {
	tests := map[string]struct {
		rules Rules
		steps []string
	}{
		"a minion, then a master, then the rest two at a time": {
			Rules{Canary: []map[string]bool{set("n1", "n2", "n3"), set("m1", "m2")}, OneAtATime: []map[string]bool{set("m1", "m2")}},
			[]string{"wait m1 =>", "wait n2 => n2", "wait n1 =>", "wait n3 =>", "wait m2 =>",
				"ok n2 => m1", "ok m1 => m2 n1", "ok n1 => n3", "ok m2 =>", "ok n3 =>"},
		},
		"a group in which nothing changes has no canary": {
			Rules{Canary: []map[string]bool{set("n1", "n2"), set("m1", "m2", "m3")}, OneAtATime: []map[string]bool{set("m1", "m2", "m3")}},
			[]string{"wait m1 =>", "pass n1 =>", "pass n2 => m1", "wait m2 =>", "ok m1 => m2", "wait m3 =>", "ok m2 => m3"},
		},
		"a host that was not changed proves nothing": {
			Rules{Canary: []map[string]bool{set("a", "b", "c")}},
			[]string{"wait a => a", "wait b =>", "same a => b", "wait c =>", "ok b => c"},
		},
		"a canary that fails stops all": {
			Rules{Canary: []map[string]bool{set("a", "b", "c")}, MaxFail: 5},
			[]string{"wait a => a", "wait b =>", "fail a =>", "wait c =>", "stopped"},
		},
		"the rest may lose as many as the rules say": {
			Rules{Canary: []map[string]bool{set("a", "b", "c", "d", "e")}, MaxFail: 1},
			[]string{"wait a => a", "wait b =>", "wait c =>", "ok a => b c", "fail b =>", "wait d => d", "fail c =>", "wait e =>", "stopped"},
		},
		"who is lost before its turn counts for nothing, who is lost inside fails": {
			Rules{Canary: []map[string]bool{set("a", "b", "c")}},
			[]string{"wait b => b", "wait a =>", "lost a =>", "lost b =>", "wait c =>", "stopped"},
		},
		"one host is both canaries": {
			Rules{Canary: []map[string]bool{set("a"), set("a")}},
			[]string{"wait a => a", "ok a =>"},
		},
		"without canaries": {
			Rules{},
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
					r.Wait(host, slices.Index(hosts, host), 2)
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

// TestInvariants runs random rollouts: the canaries are alone and come before all
// others, limits hold, nobody goes in after the rollout has stopped, and a rollout
// that does not stop ends with everybody through.
func TestInvariants(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(12)
		hosts := make([]string, n)
		masters, minions := map[string]bool{}, map[string]bool{}
		for i := range hosts {
			hosts[i] = fmt.Sprintf("h%d", i)
			if rng.IntN(3) == 0 {
				masters[hosts[i]] = true
			} else {
				minions[hosts[i]] = true
			}
		}
		limit, maxFail := 1+rng.IntN(4), rng.IntN(3)
		r := New(Rules{Canary: []map[string]bool{minions, masters}, OneAtATime: []map[string]bool{masters}, MaxFail: maxFail}, hosts)
		failing := rng.IntN(3) == 0
		undecided, inside, proved, failed := slices.Clone(hosts), map[string]bool{}, map[string]bool{}, 0
		waiting := 0
		for step := 0; len(undecided) > 0 || len(inside) > 0; step++ {
			if len(undecided) > 0 && (len(inside) == 0 || rng.IntN(2) == 0) {
				i := rng.IntN(len(undecided))
				h := undecided[i]
				undecided = slices.Delete(undecided, i, i+1)
				switch rng.IntN(4) {
				case 0:
					r.Pass(h)
				case 1:
					r.Withdraw(h)
				default:
					r.Wait(h, slices.Index(hosts, h), limit)
					waiting++
				}
			} else {
				h := slices.Sorted(keys(inside))[rng.IntN(len(inside))]
				delete(inside, h)
				switch {
				case failing && rng.IntN(3) == 0:
					r.Leave(h, Failed)
					failed++
				case rng.IntN(5) == 0:
					r.Leave(h, Unchanged)
				default:
					r.Leave(h, Proved)
					proved[h] = true
				}
			}
			stopped := r.Stopped()
			for _, h := range r.Next() {
				if stopped {
					t.Fatalf("seed %d: %s went in after the rollout had stopped", seed, h)
				}
				inside[h] = true
				waiting--
				alone := minions[h] && !anyOf(minions, proved) || masters[h] && !anyOf(masters, proved)
				if alone && len(inside) > 1 {
					t.Fatalf("seed %d: canary %s is not alone: %v", seed, h, inside)
				}
				if len(inside) > limit {
					t.Fatalf("seed %d: %d hosts are in, at most %d may be", seed, len(inside), limit)
				}
			}
			if n := count(masters, inside); n > 1 {
				t.Fatalf("seed %d: %d masters are in at once", seed, n)
			}
		}
		switch {
		case r.Stopped() && failed == 0:
			t.Fatalf("seed %d: stopped without a failure", seed)
		case !r.Stopped() && waiting > 0:
			t.Fatalf("seed %d: %d hosts wait for ever", seed, waiting)
		case !r.Stopped() && failed > maxFail:
			t.Fatalf("seed %d: %d hosts failed, %d may, and it goes on", seed, failed, maxFail)
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
