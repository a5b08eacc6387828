package revert

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/program"
)

func TestInverse(t *testing.T) {
	tests := map[string]struct {
		book    string
		past    map[string]engine.RunHistory
		log     logged
		want    string
		leftOut string
		asks    bool
	}{
		"tasks and plays in reverse order": {
			book: `
- {name: one, hosts: web, tasks: [{name: a, do: {}}, {name: b, do: {}}]}
- {name: two, hosts: all, tasks: [{name: c, do: {}}]}`,
			past: map[string]engine.RunHistory{"h1": things("file /a 1.play.1", "file /b 1.play.2#2", "file /c 2.play.1"), "h2": things("file /c 2.play.1")},
			want: `
restore: two
  undo c [h1 h2]
  handlers-none
restore: one
  undo b [h1]
  undo a [h1]
the rest
  undo the rest [h1 h2]`,
		},
		"a unit that the run stops and starts": {
			book: `
- {name: one, hosts: all, tasks: [{name: stop, do: {}}, {name: state, do: {}}, {name: config, do: {}}, {name: start, do: {gate: true}}]}`,
			past: map[string]engine.RunHistory{"h1": things("unit u 1.play.1,1.play.4 both", "file /state 1.play.2", "file /config 1.play.3")},
			want: `
restore: one
  undo start [h1]
  undo config [h1]
  undo state [h1]
  undo stop [h1]
  undo stop late [h1]
  undo start late [h1]
  do start [h1]
the rest
  undo the rest [h1]`,
		},
		"tasks that changed nothing are left out": {
			book: `
- {name: one, hosts: all, tasks: [{name: a, do: {}}, {name: b, do: {}, throttle: 3}]}
- {name: two, hosts: all, tasks: [{name: c, do: {}}]}`,
			past: map[string]engine.RunHistory{"h1": things("file /b 1.play.2"), "h2": {Known: true}, "h3": {}},
			want: `
restore: one
  undo b at most 3 [h1]
the rest
  undo the rest [h1]`,
		},
		"batches and barriers are kept": {
			book: `
- name: one
  hosts: all
  serial: [1, 10%]
  tasks: [{name: a, do: {}}, {name: b, do: {}, barrier: true}, {name: c, do: {gate: true}, barrier: true}]`,
			past: map[string]engine.RunHistory{"h1": things("file /a 1.play.1"), "h2": things("file /b 1.play.2")},
			want: `
restore: one
  batches of [1 10%]
  undo b [h2]
  barrier
  undo a [h1]
  barrier
  do c [h1 h2]
the rest
  undo the rest [h1 h2]`,
		},
		"masters one by one, with gates": {
			book: `
- name: one
  hosts: all
  tasks:
    - {name: before, do: {}}
    - when: host.master
      throttle: "plan.new ? 0 : 1"
      block:
        - {name: manifest, do: {}}
        - {name: other, do: {}}
        - {name: it runs, do: {gate: true}}
        - {name: it answers, act: {gate: true}}
    - {name: all is well, do: {gate: true}}`,
			past: map[string]engine.RunHistory{"m1": things("file /m 1.play.2"), "m2": things("file /m 1.play.2"), "n1": things("file /b 1.play.1")},
			want: `
restore: one
  block at most plan.new ? 0 : 1 [m1 m2]
    undo manifest [m1 m2]
    do it runs [m1 m2]
    do it answers [m1 m2]
  undo before [n1]
  do all is well [m1 m2 n1]
the rest
  undo the rest [m1 m2 n1]`,
			asks: true,
		},
		"pre_tasks and post_tasks enclose the inverse": {
			book: `
- name: one
  hosts: all
  tasks:
    - {name: seen, do: {}, register: seen}
    - name: rolled
      rollout: {canary: [all]}
      pre_tasks:
        - {name: drain, do: {}, register: drained}
        - {name: computed, do: {path: "{{ seen.x }}"}}
        - when: not drained.failed
          block: [{name: silence, do: {}}]
          rescue: [{name: call, do: {}}]
      block:
        - {name: a, do: {}}
        - {name: b, do: {}}
        - {name: it runs, do: {gate: true}}
      post_tasks:
        - {name: uncordon, do: {path: "{{ drained.x }}"}}`,
			past: map[string]engine.RunHistory{"h1": things("file /a 1.play.6", "file /d 1.play.2"), "h2": {Known: true, Pending: []string{"site.yaml/rollout/rolled", "site.yaml/x"}},
				"h3": things("file /d 1.play.2")},
			want: `
restore: one
  block canary of all [h1 h2]
    do drain
    block
      do silence
      do call
    block
      undo a [h1]
      do it runs [h1]
    do uncordon
the rest
  undo the rest [h1 h3]`,
			leftOut: `"computed": it uses the variable seen, which only a step of the original run can register`,
		},
		"a rollout is reverted as a rollout": {
			book: `
- name: one
  hosts: all
  tasks:
    - {name: ask, do: {look: true}, register: found}
    - rollout: {canary: [all], when: found.ok, max_parallel: 2}
      block:
        - {name: config, do: {}}
        - {name: healthy, do: {gate: true}}
    - {name: after, do: {}}`,
			past: map[string]engine.RunHistory{"h1": things("file /m 1.play.2"), "h2": things("file /m 1.play.2", "file /a 1.play.4")},
			want: `
read again: one
  do ask
restore: one
  undo after [h2]
  block canary of all [h1 h2]
    undo config [h1 h2]
    do healthy [h1 h2]
the rest
  undo the rest [h1 h2]`,
			asks: true,
		},
		"read-only tasks run again when a result is needed": {
			book: `
- name: look
  hosts: all
  tasks:
    - {name: ask, do: {look: true}, register: found, when: host.master}
    - {name: report, act: {}, barrier: true}
- name: plan
  hosts: all
  tasks:
    - {name: decide, act: {look: true}, register: plan, run_once: true, when: found.ok}
    - {name: of a change, do: {look: true}, when: changed.ok}
    - {name: a, do: {}, register: changed}
    - throttle: plan.n
      block: [{name: b, do: {}}]`,
			past: map[string]engine.RunHistory{"h1": things("file /b 2.play.4")},
			want: `
read again: look
  do ask
read again: plan
  barrier
  do decide
restore: plan
  block at most plan.n [h1]
    undo b [h1]
the rest
  undo the rest [h1]`,
			asks: true,
		},
		"gates whose arguments are unknown are left out": {
			book: `
- name: one
  hosts: all
  tasks:
    - {name: a, do: {}, register: made}
    - {name: with its result, do: {gate: true, path: "{{ made.path }}"}}
    - {name: by its result, do: {gate: true}, when: [made.changed, host.x]}
    - {name: until it is well, do: {gate: true}, register: r, until: r.ok}
    - block: [{name: b, do: {}}]
      rescue: [{name: in trouble, do: {gate: true}}, {name: mended, do: {}}]
      always: [{name: always, do: {gate: true}}]`,
			past: map[string]engine.RunHistory{"h1": things("file /a 1.play.1", "file /m 1.play.7"), "h2": things("file /a 1.play.1")},
			log:  logged{"h2 1.play.8": false},
			want: `
restore: one
  undo mended [h1]
  undo a [h1 h2]
  do by its result [h1 h2]
  do until it is well [h1 h2]
  do always [h1]
the rest
  undo the rest [h1 h2]`,
			leftOut: `"with its result": it uses the variable made, which only a step of the original run can register`,
		},
		"no gate waits for resources that the run created": {
			book: `
- name: one
  hosts: all
  tasks:
    - {name: package, do: {}}
    - {name: config, do: {}, notify: restart}
    - {name: port, do: {gate: true}}
  handlers: [{name: restart, do: {gate: true}}]`,
			past: map[string]engine.RunHistory{
				"new":     things("package nginx 1.play.1 made", "file /c 1.play.2"),
				"files":   things("file /c 1.play.2 made", "file /d 1.play.2 made"),
				"changed": things("file /c 1.play.2", "file /d 1.play.2 made"),
				"started": things("file /c 1.play.2", "unit nginx 1.play.3 started"),
				"stays":   things("lost /clone 1.play.1 lost", "file /c 1.play.2 made"),
			},
			want: `
restore: one
  undo port [started]
  undo config -> restart [changed files new started stays]
  undo package [new stays]
  do port [changed]
  handlers
  handler restart [changed]
the rest
  undo the rest [changed files new started stays]`,
		},
		"handlers run after the restore": {
			book: `
- name: one
  hosts: all
  tasks:
    - {name: a, do: {}, notify: [command, write]}
    - meta: flush_handlers
    - {name: b, do: {gate: true}, notify: write}
  handlers:
    - {name: write, do: {}, notify: chained}
    - {name: command, do: {}}
    - {name: chained, do: {gate: true}}
    - {name: never, do: {}}
    - {name: asks too much, do: {path: "{{ got.x }}"}, register: got2}`,
			past: map[string]engine.RunHistory{"h1": things("file /a 1.play.1", "file /w 1.play.handler1@2", "ran 1.play.handler2"), "h2": things("file /a 1.play.1", "ran 1.play.handler1", "ran 1.play.handler2@2")},
			want: `
restore: one
  undo write -> chained [h1]
  undo a -> command -> write [h1 h2]
  handlers
  do b [h1 h2]
  handlers
  handler write [h2]
  handler command [h1 h2]
  handler chained [h1 h2]
the rest
  undo the rest [h1 h2]`,
		},
		"only handlers that ran are repeated": {
			book: `
- name: one
  hosts: all
  tasks: [{name: a, do: {}, notify: [command, unit, object]}]
  handlers: [{name: command, do: {}}, {name: unit, do: {gate: true}}, {name: object, act: {}}]`,
			past: map[string]engine.RunHistory{"h1": things("file /a 1.play.1", "ran 1.play.handler1"), "h2": things("file /a 1.play.1")},
			log:  logged{"h2 1.play.handler3": true},
			asks: true,
			want: `
restore: one
  undo a -> command -> unit -> object [h1 h2]
  handlers
  handler command [h1]
  handler unit [h1 h2]
  handler object [h2]
the rest
  undo the rest [h1 h2]`,
		},
		"units start after their files are restored": {
			book: `
- name: one
  hosts: all
  tasks:
    - {name: config, do: {}}
    - {name: unit, do: {gate: true}}
    - {name: port, do: {gate: true}}
  handlers: [{name: restart, do: {gate: true}}]`,
			past: map[string]engine.RunHistory{"h1": things("file /c 1.play.1", "unit x 1.play.2 late", "unit y 1.play.handler1 late")},
			want: `
restore: one
  undo config [h1]
  undo unit late [h1]
  do unit [h1]
  do port [h1]
  undo restart late [h1]
the rest
  undo the rest [h1]`,
		},
		"needs are inverted": {
			book: `
- name: one
  hosts: all
  tasks:
    - {name: server, do: {}, label: served}
    - {name: between, do: {}}
    - {name: client, do: {}, needs: served}
    - throttle: 1
      block: [{name: t1, do: {}, label: turn}, {name: t2, do: {}, needs: [{label: turn, count: 1}]}]
- name: two
  hosts: web
  tasks: [{name: other, do: {}, needs: [{label: served, count: 1}]}, {name: free, do: {}}]`,
			past: map[string]engine.RunHistory{"h1": things("file /s 1.play.1", "file /t 1.play.4", "file /u 1.play.5", "file /o 2.play.1"), "h2": things("file /c 1.play.3")},
			want: `
restore: two
  undo other [h1]
  label what needed served is restored
restore: one
  block at most 1 [h1]
    undo t2 [h1]
    label what needed turn is restored
    undo t1 [h1]
  undo client [h2]
  label what needed served is restored
  undo server [h1] after what needed served is restored after what needed served is restored
the rest
  undo the rest [h1 h2]`,
		},
		"changes of steps that the program no longer has": {
			book: `[{name: one, hosts: all, tasks: [{name: a, do: {}}]}]`,
			past: map[string]engine.RunHistory{"h1": things("file /a 1.play.1"), "h2": things("file /b 1.play.9"), "h3": things("file /a 1.play.1/h9"), "h4": {Known: true}},
			want: `
restore: one
  undo a [h1]
the rest
  undo the rest [h1]
  undo the rest at most 1 [h2 h3]`,
		},
		"no changes": {
			book: `[{name: one, hosts: all, tasks: [{name: a, do: {}}]}]`,
			past: map[string]engine.RunHistory{},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := Options{Run: "r1", History: tt.past}
			if tt.log != nil {
				o.Log = tt.log
			}
			m, err := Inverse(mustCompile(t, tt.book), o)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(strings.Join(layout(m), "\n"), "other changes of run r1", "the rest")
			if diff := cmp.Diff(wanted(tt.want), got); diff != "" {
				t.Errorf("%s\n%s", diff, got)
			}
			if left := strings.Join(m.LeftOut, "\n"); left != tt.leftOut {
				t.Errorf("left out: %s", left)
			}
			if m.Everyone != tt.asks {
				t.Errorf("asks everyone: %t", m.Everyone)
			}
			sound(t, m.Program)
		})
	}
}

// logged is a Log by "host task": true for a task that ran, false for one that was
// skipped.
type logged map[string]bool

func (l logged) Skipped(host, task string) bool {
	ran, known := l[host+" "+task]
	return known && !ran
}

func (l logged) Ran(host, task string) bool { return l[host+" "+task] }

func wanted(text string) string {
	var out []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		if !strings.Contains(line, "handlers-none") {
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(out, "\n")
}

// sound checks the properties of a program that the scheduler relies on.
func sound(t *testing.T, p *program.Program) {
	t.Helper()
	for i, op := range p.Ops {
		if op.Play == nil || p.Plays[op.Play.Index] != op.Play || i < op.Play.Begin || i > op.Play.End {
			t.Fatalf("operation %d is not in its play", i)
		}
		switch op.Kind {
		case program.OpTask:
			if op.Task.Play != op.Play || op.Task.Block != op.Block {
				t.Errorf("task %s does not know where it stands", op.Task.ID)
			}
		case program.OpBlock:
			if op.Block.Begin != i || p.Ops[op.Block.End].Kind != program.OpEnd || p.Ops[op.Block.End].Block != op.Block {
				t.Errorf("block at %d does not end", i)
			}
		case program.OpLabel:
			if p.Labels[op.Label.Index] != op.Label || op.Label.Op != i || op.Label.Play != op.Play {
				t.Errorf("label %s is not where it says", op.Label.Name)
			}
		}
	}
}

// TestMirrorOfAMirror: the revert of a revert executes the steps in their original
// order, with the same gates.
func TestMirrorOfAMirror(t *testing.T) {
	prog := mustCompile(t, `
- name: one
  hosts: all
  tasks:
    - throttle: 1
      block: [{name: a, do: {}}, {name: b, do: {}, notify: h}, {name: gate, do: {gate: true}}]
  handlers: [{name: h, do: {gate: true}}]`)
	once, err := Inverse(prog, Options{Run: "r1"})
	if err != nil {
		t.Fatal(err)
	}
	twice, err := Inverse(once.Program, Options{Run: "r2", History: map[string]engine.RunHistory{
		"h1": things("file /a revert:r1:1.play.1", "file /b revert:r1:1.play.2", "unit x 1.play.3 late"),
		"h2": things("file /z revert:r1:"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, once.Program)
	sound(t, twice.Program)
	want := wanted(`
restore: other changes of run r1
  undo the rest [h2]
done again: one
  block at most 1 [h1]
    undo a [h1]
    undo b -> h [h1]
    undo gate late [h1]
    do gate [h1]
  handlers
  handler h [h1]
other changes of run r2
  undo the rest [h1 h2]`)
	got := strings.ReplaceAll(strings.Join(layout(twice), "\n"), "undo other changes of run r1", "undo the rest")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, got)
	}
}
