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

// RevertPreview is what hosts know of a run that is to be put back, and what its log says
// beside that.
type RevertPreview struct {
	Report *engine.Report
	Past   map[string]engine.RunHistory // of the hosts that could be asked
	// Cannot says what cannot be put back.
	Irreversible []Irreversible
	// LeftOut are gates and handlers that are not repeated.
	LeftOut []string

	changes *plan.Collector
	hosts   []string // of the hosts
	inverse *revert.Inverted
}

// Hosts are those that are asked, in inventory order.
func (r *Revert) Hosts() []string { return r.query.Hosts }

// Prepare is Ready of the run that asks the hosts.
func (r *Revert) Prepare(ctx context.Context) error { return r.query.Prepare(ctx) }

// Preview asks the hosts what there is to put back. When it was interrupted, only the
// report tells something.
func (r *Revert) Preview(ctx context.Context, w Observer) (*RevertPreview, error) {
	said := &historyCollector{changes: plan.NewCollector(), past: map[string]engine.RunHistory{}}
	if w.Sink == nil {
		w.Sink = said
	} else {
		w.Sink = view.Tee(w.Sink, said)
	}
	report, err := r.query.Do(ctx, w)
	if err != nil {
		return nil, err
	}
	found := &RevertPreview{Report: report, Past: said.past, changes: said.changes, hosts: r.query.Hosts}
	if report.Interrupted {
		return found, nil
	}
	if said.err != nil {
		return nil, said.err
	}
	found.Irreversible = r.irreversible(found)
	found.inverse, err = revert.Inverse(r.program, revert.Options{Run: r.ID, Force: r.options.Force, Past: found.Past, Log: r.log.asRevertLog()})
	if err != nil {
		return nil, err
	}
	found.LeftOut = found.inverse.LeftOut
	return found, nil
}

// historyCollector gathers what hosts know of the run.
type historyCollector struct {
	changes *plan.Collector

	mu   sync.Mutex
	past map[string]engine.RunHistory
	err  error
}

// Emit implements engine.Sink.
func (a *historyCollector) Emit(e engine.Event) {
	a.changes.Emit(e)
	if e.Type != engine.EventStepEnd || e.Result == nil || e.Result.Failure != nil {
		return
	}
	p, err := revert.ParseHistory(e.Result.Output)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.past[e.Host] = p
	a.err = errors.Join(a.err, err)
}

// HasWork tells whether there is anything to do: to put back, or to finish.
func (f *RevertPreview) HasWork() bool {
	for _, p := range f.Past {
		if p.Unfinished != "" || slices.ContainsFunc(p.Items, func(i engine.ChangeRecord) bool { return i.State == engine.RevertRestore }) {
			return true
		}
	}
	return false
}

// Changes are what putting back would do, as a plan has it.
func (f *RevertPreview) Changes() *plan.Plan { return f.changes.Everything(f.hosts) }

// Drifted lists what somebody has changed since the run.
func (f *RevertPreview) Drifted() []Irreversible {
	list := &irreversibleList{}
	for _, host := range f.hosts {
		for _, i := range f.Past[host].Items {
			if i.State != engine.RevertDrifted {
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

// RefuseDrift refuses when something has drifted.
func (f *RevertPreview) RefuseDrift() error {
	if len(f.Drifted()) > 0 {
		return &RefusedError{errors.New("nothing was changed: what is listed above was changed since; revert later runs first, or put everything back all the same with --force")}
	}
	return nil
}

// Incomplete tells whether something stays as the run left it.
func (f *RevertPreview) Incomplete() bool {
	return slices.ContainsFunc(f.Irreversible, func(c Irreversible) bool { return c.lasting })
}
