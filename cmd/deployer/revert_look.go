package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/engine/playbook"
	"deployer/engine/revert"
	"deployer/project"
)

// lookedBack is what hosts know of a run, and what its log says beside that.
type lookedBack struct {
	changes *plan.Collector
	order   []string // of the hosts

	mu     sync.Mutex
	past   map[string]engine.Past
	broken error
	// silent are the hosts that could not be asked, with the reason.
	silent map[string]string
	// cannot says what cannot be put back, with the hosts.
	cannot  []cannot
	leftOut []string // gates and handlers that are not repeated
}

// cannot is something that cannot be put back.
type cannot struct {
	What  string   `json:"what"`
	Hosts []string `json:"hosts"`
	// lasting: something is not as it was before, as far as anybody knows.
	lasting bool
}

// Emit implements engine.Sink.
func (l *lookedBack) Emit(e engine.Event) {
	l.changes.Emit(e)
	if e.Type != engine.StepEnd || e.Result == nil || e.Result.Failure != nil {
		return
	}
	p, err := revert.PastOf(e.Result.Output)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.past[e.Host] = p
	l.broken = errors.Join(l.broken, err)
}

// lookBack asks the hosts of the run.
func (r *reverting) lookBack(ctx context.Context, x *execution) (*lookedBack, error) {
	ask, err := revert.Ask(r.id, r.options.force)
	if err != nil {
		return nil, err
	}
	ask.Secrets = x.program.Secrets
	found := &lookedBack{changes: plan.NewCollector(), order: r.hostsOf(x), past: map[string]engine.Past{}, silent: map[string]string{}}
	if err := x.login(); err != nil { // once for this and for what follows
		return nil, err
	}
	y := *x
	y.program, y.hosts, y.results, y.budget = ask, found.order, found, everyHostMayFail()
	y.options.check, y.artifacts = true, false
	if y.options.output == "text" {
		y.show = answering(x.env.stdout, &y)
	} else {
		y.show = silence{}
	}
	report, err := y.run(ctx)
	if err != nil {
		return nil, err
	}
	if report.Interrupted {
		return nil, silent(exitInterrupted)
	}
	for _, h := range report.Broken() {
		found.silent[h.Host] = h.Failure.Message
	}
	found.cannot = r.cannot(x.program, found)
	return found, found.broken
}

// hostsOf are the hosts that had a part in the run; all of the project's where
// nobody knows, or where tasks may have worked on other hosts than their own.
func (r *reverting) hostsOf(x *execution) []string {
	if len(r.track.hosts) == 0 || slices.ContainsFunc(x.program.Tasks, func(t *playbook.Task) bool { return t.Delegate != nil }) {
		return x.hosts
	}
	return slices.DeleteFunc(slices.Clone(x.hosts), func(host string) bool { return !r.track.hosts[host] })
}

// without is an execution without a program: of exec, whose one task has this
// id, or of a run of which nothing is known.
func (r *reverting) without(e env, call journal.Call, o runOptions) (*execution, error) {
	text := "[{name: exec, hosts: all, tasks: [{name: exec, debug: {msg: exec}}]}]"
	p, err := loadAny(o.inventory, "")
	if err != nil {
		return nil, err
	}
	b := project.TextBook([]byte(text), "exec")
	b.Name = call.Verb
	x, err := newExecution(e, p, b, o)
	if err == nil && call.Verb == unknown {
		x.program = &playbook.Program{}
	}
	return x, err
}

// cannot lists what cannot be put back: what hosts have lost, or forgotten, and
// steps that kept nothing.
func (r *reverting) cannot(prog *playbook.Program, found *lookedBack) []cannot {
	list := &cannots{}
	for _, host := range found.order {
		past, asked := found.past[host]
		changed := r.track.changed[host]
		switch {
		case !asked:
			list.add(host, "all that the run changed there: the host was not reached ("+found.silent[host]+")", len(changed) > 0 || len(r.track.hosts) == 0)
			continue
		case !past.Known && len(changed) > 0:
			list.add(host, fmt.Sprintf("all that the run changed there (%d steps): the host has no record of it any more", len(changed)), true)
			continue
		}
		for _, item := range past.Items {
			if item.Fate == engine.Lost {
				list.add(host, item.Label()+": "+item.Why, true)
			}
		}
		r.bare(prog, host, found.past, list)
	}
	return list.all
}

// bare lists the steps that changed something and kept nothing.
func (r *reverting) bare(prog *playbook.Program, host string, all map[string]engine.Past, list *cannots) {
	past := all[host]
	told := map[string]bool{}
	for _, c := range r.track.changed[host] {
		if where, step := c.keptAs(host); !keeps(all[where], step) {
			list.add(host, c.String(), false)
		}
		told[c.step] = true
	}
	for _, step := range past.Bare {
		if action, _, ok := cutLast(step, "."); told[step] || r.track.idle[host][step] || ok && told[action] {
			continue // a module that an action has run is named by the action's step
		}
		if _, by, delegated := strings.Cut(step, "/"); delegated && len(r.track.changed[by]) > 0 {
			continue // named where the play's host is
		}
		name := "step " + step
		for _, t := range prog.Tasks {
			if t.ID == taskOf(step) {
				name = t.Name
			}
		}
		list.add(host, name, false)
	}
}

// keeps tells whether a host has kept something that a step has changed.
func keeps(past engine.Past, step string) bool {
	return slices.ContainsFunc(past.Items, func(i engine.PastItem) bool { return slices.Contains(i.Steps, step) })
}

// cutLast cuts text around the last sep in it.
func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}

// cannots gathers what hosts have in common.
type cannots struct{ all []cannot }

func (c *cannots) add(host, what string, lasting bool) {
	i := slices.IndexFunc(c.all, func(one cannot) bool { return one.What == what })
	if i < 0 {
		i = len(c.all)
		c.all = append(c.all, cannot{What: what})
	}
	c.all[i].lasting = c.all[i].lasting || lasting
	if !slices.Contains(c.all[i].Hosts, host) {
		c.all[i].Hosts = append(c.all[i].Hosts, host)
	}
}
