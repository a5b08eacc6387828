package operations

import (
	"os"
	"slices"
	"strings"

	"deployer/engine/journal"
	"deployer/runs"
	"deployer/runs/history"
)

// AnyRun wants a run for which a function returns true.
func AnyRun(selected func(*history.Entry) bool) Wanted {
	return Wanted{Suffice: func(all []*history.Entry) bool { return slices.ContainsFunc(all, selected) }}
}

// Run wants the run whose id begins with name, with the runs that it reverts. Without a name it
// wants the newest run, with ofInventory that of the inventory.
func (l Logs) Run(name string, ofInventory bool) Wanted {
	return Wanted{
		Suffice: func(all []*history.Entry) bool {
			switch {
			case name != "":
				return has(all, name) && hasAll(all, withReverted(all, name))
			case ofInventory:
				return slices.ContainsFunc(all, l.OfInventory)
			}
			return len(all) > 0
		},
		Whole: func(all []*history.Entry) []string {
			if name == "" && ofInventory {
				return withReverted(all, l.NewestOfInventory(all))
			}
			return withReverted(all, name)
		},
	}
}

// Unfinished wants the run that resume continues, the runs that it reverts, of a rollback the
// whole upgrade, and its plan.
func (l Logs) Unfinished(name string) Wanted {
	return Wanted{
		Suffice: func(all []*history.Entry) bool {
			if name == "" && !slices.ContainsFunc(all, l.OfInventory) || name != "" && !has(all, name) {
				return false
			}
			selected := l.unfinished(all, name)
			return hasAll(all, selected) && hasPlan(all, selected)
		},
		Whole: func(all []*history.Entry) []string { return l.unfinished(all, name) },
	}
}

// Upgrade wants the runs of the upgrade that rollback reverts. Without a name it also wants those
// whose logs must be read whole to find it.
func (l Logs) Upgrade(name string) Wanted {
	whole := func(all []*history.Entry) []string {
		if name == "" {
			return append(runs.UpgradeChain(all, l.Inventory, ""), runs.Undecided(all, l.Inventory)...)
		}
		if id := match(all, name); id != "" {
			return runs.UpgradeChain(all, l.Inventory, id)
		}
		return nil
	}
	return Wanted{Whole: whole, Suffice: func(all []*history.Entry) bool {
		selected := whole(all)
		return len(selected) > 0 && hasAll(all, selected)
	}}
}

func (l Logs) unfinished(all []*history.Entry, name string) []string {
	if _, next := runs.NextRollback(all, l.Inventory); name == "" && next != "" {
		return runs.UpgradeChain(all, l.Inventory, next)
	}
	id := match(all, name)
	if last := runs.LastUnfinished(all, l.Inventory); name == "" && last != nil {
		id = last.Header.Run
	}
	out := history.Follow(all, id, reverts)
	if len(out) > 1 {
		for _, run := range runs.UpgradeChain(all, l.Inventory, out[len(out)-1]) {
			if !slices.Contains(out, run) {
				out = append(out, run)
			}
		}
	}
	return out
}

// withReverted returns the named run, or the newest, with the runs that it reverts.
func withReverted(all []*history.Entry, name string) []string {
	id := match(all, name)
	if name == "" && len(all) > 0 {
		id = all[0].Header.Run
	}
	return history.Follow(all, id, reverts)
}

// reverts returns the run that a run reverts; empty for none.
func reverts(h journal.Header) string { return h.Invocation.Reverts }

// match returns the id of the run that name begins; empty for none and for no name.
func match(all []*history.Entry, name string) string {
	if name == "" {
		return ""
	}
	return strings.Join(history.Match(all, name), "")
}

func has(all []*history.Entry, name string) bool {
	return slices.ContainsFunc(all, func(r *history.Entry) bool { return strings.HasPrefix(r.Header.Run, name) })
}

// hasAll reports whether the logs have all runs of a selection.
func hasAll(all []*history.Entry, selected []string) bool {
	return !slices.ContainsFunc(selected, func(run string) bool { return len(history.Match(all, run)) == 0 })
}

// hasPlan reports whether this machine has the plan that the first of the runs with a plan applies.
func hasPlan(all []*history.Entry, selected []string) bool {
	for _, run := range selected {
		for _, r := range all {
			if plan := r.Header.Plan; r.Header.Run == run && plan != nil {
				_, err := os.Stat(plan.File)
				return err == nil
			}
		}
	}
	return true
}
