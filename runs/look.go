package runs

import (
	"context"
	"errors"
	"slices"
	"sync"

	"deployer/engine"
	"deployer/engine/plan"
	"deployer/engine/revert"
	"deployer/engine/view"
)

// Found is what hosts know of a run that is to be put back, and what its log says
// beside that.
type Found struct {
	Report *engine.Report
	Past   map[string]engine.Past // of the hosts that could be asked
	// Cannot says what cannot be put back.
	Cannot []Cannot
	// LeftOut are gates and handlers that are not repeated.
	LeftOut []string

	changes *plan.Collector
	order   []string // of the hosts
	back    *revert.Inverted
}

// Hosts are those that are asked, in inventory order.
func (r *Reverting) Hosts() []string { return r.look.Hosts }

// Ready is Ready of the run that asks the hosts.
func (r *Reverting) Ready(ctx context.Context) error { return r.look.Ready(ctx) }

// Look asks the hosts what there is to put back. When it was interrupted, only the
// report tells something.
func (r *Reverting) Look(ctx context.Context, w Watch) (*Found, error) {
	said := &answers{changes: plan.NewCollector(), past: map[string]engine.Past{}}
	if w.Sink == nil {
		w.Sink = said
	} else {
		w.Sink = view.Tee(w.Sink, said)
	}
	report, err := r.look.Do(ctx, w)
	if err != nil {
		return nil, err
	}
	found := &Found{Report: report, Past: said.past, changes: said.changes, order: r.look.Hosts}
	if report.Interrupted {
		return found, nil
	}
	if said.broken != nil {
		return nil, said.broken
	}
	found.Cannot = r.cannot(found)
	found.back, err = revert.Inverse(r.program, revert.Options{Run: r.ID, Force: r.options.Force, Past: found.Past, Log: r.track.log()})
	if err != nil {
		return nil, err
	}
	found.LeftOut = found.back.LeftOut
	return found, nil
}

// answers gathers what hosts know of the run.
type answers struct {
	changes *plan.Collector

	mu     sync.Mutex
	past   map[string]engine.Past
	broken error
}

// Emit implements engine.Sink.
func (a *answers) Emit(e engine.Event) {
	a.changes.Emit(e)
	if e.Type != engine.StepEnd || e.Result == nil || e.Result.Failure != nil {
		return
	}
	p, err := revert.ParseHistory(e.Result.Output)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.past[e.Host] = p
	a.broken = errors.Join(a.broken, err)
}

// Due tells whether there is anything to do: to put back, or to finish.
func (f *Found) Due() bool {
	for _, p := range f.Past {
		if p.Unfinished != "" || slices.ContainsFunc(p.Items, func(i engine.PastItem) bool { return i.Fate == engine.PutBack }) {
			return true
		}
	}
	return false
}

// Changes are what putting back would do, as a plan has it.
func (f *Found) Changes() *plan.Plan { return f.changes.Everything(f.order) }

// Drifted lists what somebody has changed since the run.
func (f *Found) Drifted() []Cannot {
	list := &cannots{}
	for _, host := range f.order {
		for _, i := range f.Past[host].Items {
			if i.Fate != engine.Drifted {
				continue
			}
			who := ""
			if i.Run != "" {
				who = " (by run " + i.Run + ")"
			}
			list.add(host, i.Label()+who, true)
		}
	}
	return list.all
}

// Verdict refuses when something has drifted.
func (f *Found) Verdict() error {
	if len(f.Drifted()) > 0 {
		return &Refusal{errors.New("nothing was changed: what is listed above was changed since; revert later runs first, or put everything back all the same with --force")}
	}
	return nil
}

// Left tells whether something stays as the run left it.
func (f *Found) Left() bool {
	return slices.ContainsFunc(f.Cannot, func(c Cannot) bool { return c.lasting })
}
