package runs

import (
	"maps"
	"slices"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs/history"
)

// UpgradeChain returns the ids of the runs that a rollback reverts, newest first: an
// upgrade, and the earlier upgrades of the inventory to the same versions, up to the first
// upgrade to other ones or to one that has completed: what is changed after it, such as
// another policy of the memory manager, is another upgrade. An upgrade that was given again
// after a kill or a failure belongs to the chain as well as one that was resumed, and so do
// upgrades of single components. Runs that changed nothing, and runs that a finished revert
// has restored, are left out.
//
// The chain begins with the run from or, when from is empty, with the newest upgrade whose
// log shows a change; without one, with the newest upgrade that may have changed something.
// The chain is empty without an upgrade. A run that another one has resumed is part of it although
// its log is missing. Runs of other machines, which hosts of the inventory have recorded,
// are runs of the inventory.
func UpgradeChain(newestFirst []*history.Entry, inventory, from string) []string {
	upgrades, reverted := upgradesOf(newestFirst, inventory, from)
	head := slices.IndexFunc(upgrades, func(r *history.Entry) bool {
		return r.Header.Run == from || from == "" && changedByUpgrade(r) == changedSomething
	})
	if head < 0 && from == "" && len(upgrades) > 0 {
		head = 0
	}
	if head < 0 {
		return nil
	}
	if from == "" { // newer runs that may have changed something on the way to the same versions
		target := upgrades[head]
		upgrades = slices.DeleteFunc(slices.Clone(upgrades), func(r *history.Entry) bool {
			return slices.Index(upgrades, r) < head && !sameTarget(r, target)
		})
		head = 0
	}
	return chainFrom(newestFirst, upgrades[head:], reverted)
}

// chainFrom returns the chain that begins with the first of the upgrades. A run that a finished
// revert has restored has changed something, whatever its log shows.
func chainFrom(all, upgrades []*history.Entry, reverted map[string]bool) []string {
	out, resumed, changed := []string{}, map[string]bool{}, false
	for _, r := range upgrades {
		id := r.Header.Run
		changes := changedByUpgrade(r) == changedSomething || reverted[id]
		if len(out) > 0 && !resumed[id] {
			same := sameTarget(r, upgrades[0])
			if changed && completed(r) || !same && changes {
				break
			}
			if !same {
				continue
			}
		}
		out, changed = append(out, id), changed || changes
		for next := r.Header.Resumes; next != "" && !resumed[next]; next = resumes(all, next) {
			resumed[next] = true
		}
	}
	return append(out, missingResumed(all, resumed)...)
}

// resumes returns the run that a run has resumed; empty for none.
func resumes(all []*history.Entry, run string) string {
	if i := slices.IndexFunc(all, func(r *history.Entry) bool { return r.Header.Run == run }); i >= 0 {
		return all[i].Header.Resumes
	}
	return ""
}

// missingResumed returns the resumed runs whose logs all does not have, newest first.
func missingResumed(all []*history.Entry, resumed map[string]bool) []string {
	var out []string
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(resumed))) {
		if !slices.ContainsFunc(all, func(r *history.Entry) bool { return r.Header.Run == id }) {
			out = append(out, id)
		}
	}
	return out
}

// upgradesOf returns the upgrades of an inventory that may have changed something and that
// no finished revert has restored; the run named, if any, in any case. reverted are the ids of the
// runs that a finished revert has restored.
func upgradesOf(newestFirst []*history.Entry, inventory, named string) (out []*history.Entry, reverted map[string]bool) {
	upgrades, reverted := upgradesIn(newestFirst, inventory)
	for _, r := range newestFirst {
		if r.Header.Invocation.Verb != journal.VerbUpgrade {
			continue
		}
		if id := r.Header.Run; id == named || slices.Contains(upgrades, r) && !reverted[id] {
			out = append(out, r)
		}
	}
	return out, reverted
}

// upgradesIn returns the upgrades of an inventory that may have changed something, and the ids of
// the runs that a finished revert has restored. A run that hosts of the inventory have recorded is
// one of it, whichever path its inventory had, such as that of another checkout.
func upgradesIn(newestFirst []*history.Entry, inventory string) (upgrades []*history.Entry, reverted map[string]bool) {
	inventory, reverted = project.Absolute(inventory), map[string]bool{}
	for _, r := range newestFirst {
		call := r.Header.Invocation
		switch {
		case call.Verb == journal.VerbRevert && r.Finished():
			reverted[call.Reverts] = true
		case call.Verb != journal.VerbUpgrade, changedByUpgrade(r) == changedNothing:
		case !r.Here, len(r.Keepers) > 0, call.Inventory == inventory:
			upgrades = append(upgrades, r)
		}
	}
	return upgrades, reverted
}

// sameTarget reports whether two upgrades lead to the same versions.
func sameTarget(a, b *history.Entry) bool {
	return a.Header.Invocation.Kubernetes == b.Header.Invocation.Kubernetes && len(a.Header.Versions)+len(b.Header.Versions) == 0 ||
		len(a.Header.Versions) > 0 && maps.Equal(a.Header.Versions, b.Header.Versions)
}

// completed reports whether an upgrade has brought all components to its versions.
func completed(r *history.Entry) bool {
	call := r.Header.Invocation
	return r.Finished() && len(call.Tags) == 0 && changedByUpgrade(r) == changedSomething
}

// upgradeChange says whether a run has changed something, as far as its log shows.
type upgradeChange int

const (
	changedNothing upgradeChange = iota
	// changedMaybe means that only hosts know: a killed run lacks the ends of its last steps,
	// and of a log on hosts only the end may have been read.
	changedMaybe
	changedSomething
)

// changedByUpgrade returns whether an upgrade has changed something. Refused upgrades have
// failed hosts and no change.
func changedByUpgrade(r *history.Entry) upgradeChange {
	switch {
	case r.Report != nil && r.Report.Changed() > 0, r.Results[engine.StatusChanged] > 0, r.FailedChanges > 0:
		return changedSomething
	case r.Report == nil, r.Brief && len(r.Report.Broken()) > 0:
		return changedMaybe
	}
	return changedNothing
}

// Undecided returns the ids of upgrades of which only the header and the outcome were read
// from hosts, and that may have changed something.
func Undecided(newestFirst []*history.Entry, inventory string) []string {
	var out []string
	upgrades, _ := upgradesOf(newestFirst, inventory, "")
	for _, r := range upgrades {
		if r.Brief && changedByUpgrade(r) == changedMaybe {
			out = append(out, r.Header.Run)
		}
	}
	return out
}
