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

// RevertPreview has the backups of hosts and the log of a run that is to be reverted.
type RevertPreview struct {
	Report  *engine.Report
	History map[string]engine.RunHistory // by host; unreachable hosts are missing
	// Irreversible are the changes that cannot be reverted.
	Irreversible []Irreversible
	// LeftOut are gates and handlers that the revert does not repeat.
	LeftOut []string

	changes *plan.Collector
	hosts   []string // of the hosts
	lowered error    // minor versions that the revert must not lower
	unsafe  error    // hosts that are down and must not be
	inverse *revert.Inverted
}

// Hosts returns the hosts that Preview queries, in inventory order.
func (r *Revert) Hosts() []string { return r.query.Hosts }

// Prepare prepares the query of the hosts, as [Run.Prepare] does.
func (r *Revert) Prepare(ctx context.Context) error { return r.query.Prepare(ctx) }

// Preview queries the hosts for their backups. When it was interrupted, only Report is
// set.
func (r *Revert) Preview(ctx context.Context, w Observer) (*RevertPreview, error) {
	history := &historyCollector{changes: plan.NewCollector(), history: map[string]engine.RunHistory{}}
	if w.Sink == nil {
		w.Sink = history
	} else {
		w.Sink = view.Tee(w.Sink, history)
	}
	report, err := r.query.Do(ctx, w)
	if err != nil {
		return nil, err
	}
	found := &RevertPreview{Report: report, History: history.history, changes: history.changes, hosts: r.query.Hosts}
	if report.Interrupted {
		return found, nil
	}
	if history.err != nil {
		return nil, history.err
	}
	found.Irreversible = r.irreversible(found)
	found.lowered = refuseLowered(r.loweredOn(found), r.options.LowerMinor)
	found.unsafe = r.refuseWithout(found)
	found.inverse, err = revert.Inverse(r.program, revert.Options{Run: r.ID, Force: r.options.Force, History: found.History, Log: r.log.asRevertLog()})
	if err != nil {
		return nil, err
	}
	found.LeftOut = found.inverse.LeftOut
	return found, nil
}

// historyCollector collects the histories that hosts report.
type historyCollector struct {
	changes *plan.Collector

	mu      sync.Mutex
	history map[string]engine.RunHistory
	err     error
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
	a.history[e.Host] = p
	a.err = errors.Join(a.err, err)
}

// HasWork reports whether a host has something to restore, a revert to complete, or
// post_tasks to run.
func (f *RevertPreview) HasWork() bool {
	if f.inverse != nil && len(f.inverse.Due) > 0 {
		return true
	}
	for _, p := range f.History {
		if p.Unfinished != "" || slices.ContainsFunc(p.Items, func(i engine.ChangeRecord) bool { return i.State == engine.RevertRestore }) {
			return true
		}
	}
	return false
}

// Changes returns the changes of the revert in the form of a plan.
func (f *RevertPreview) Changes() *plan.Plan { return f.changes.Everything(f.hosts) }

// Drifted lists the resources that have changed since the run.
func (f *RevertPreview) Drifted() []Irreversible {
	list := &irreversibleList{}
	for _, host := range f.hosts {
		for _, i := range f.History[host].Items {
			if i.State != engine.RevertDrifted {
				continue
			}
			by := ""
			if i.Run != "" {
				by = " (by run " + i.Run + ")"
			}
			list.add(host, i.Label()+by, true)
		}
	}
	return list.all
}

// Refuse returns a *RefusedError when a resource has drifted, when hosts are down without
// which etcd would lose its quorum, or when a minor version would be lowered that must stay.
func (f *RevertPreview) Refuse() error {
	if len(f.Drifted()) > 0 {
		return &RefusedError{errors.New("nothing was changed: the listed resources have changed since the run; revert later runs first, or restore them too with --force")}
	}
	if f.unsafe != nil {
		return f.unsafe
	}
	return f.lowered
}

// Incomplete reports whether some state of the run stays after the revert.
func (f *RevertPreview) Incomplete() bool {
	return slices.ContainsFunc(f.Irreversible, func(c Irreversible) bool { return c.lasting })
}
