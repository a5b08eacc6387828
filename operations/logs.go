package operations

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"

	"deployer/engine/sanitize"
	"deployer/project"
	"deployer/runs"
	"deployer/runs/history"
	"deployer/runs/target"
)

// Logs says where the logs of earlier runs are read: on this machine, and in the records of the
// hosts of an inventory.
type Logs struct {
	Inventory string
	Prompt    target.PromptFlags
	// FromHosts reads the records of hosts even when the logs of this machine suffice.
	FromHosts bool
	// Hosts is the pattern of hosts whose records are read; empty for the hosts that keep them.
	Hosts string
}

// Wanted selects the logs that an operation needs. With a nil Suffice no log of this machine
// suffices.
type Wanted struct {
	// Suffice reports whether the logs of this machine are enough.
	Suffice func(all []*history.Entry) bool
	// Whole returns the runs that are read whole from hosts; see runs.FetchOptions.
	Whole func(all []*history.Entry) []string
}

// Open returns the logs of this machine and, with FromHosts or when they do not suffice, the
// records of hosts. warn gets a text for records that cannot be read. The caller must close the
// history.
func (l Logs) Open(ctx context.Context, runner runs.Runner, want Wanted, warn func(text string)) (*history.History, error) {
	local, err := history.Local()
	if err != nil {
		return nil, err
	}
	if !l.FromHosts {
		all, _ := local.List()
		if _, err := os.Stat(l.Inventory); err != nil || want.Suffice != nil && want.Suffice(all) {
			return local, nil //nolint:nilerr // without an inventory there are no hosts
		}
	}
	fetched, err := runner.FetchHistory(ctx, runs.FetchOptions{Inventory: l.Inventory, Hosts: l.Hosts, Prompt: l.Prompt, Whole: want.Whole})
	switch {
	case err != nil && l.FromHosts:
		return nil, err
	case err != nil:
		warn(fmt.Sprintf("this machine has no such run, and the hosts of %s give no records: %v", l.Inventory, err))
		return local, nil
	}
	for _, host := range slices.Sorted(maps.Keys(fetched.Failed)) {
		warn(fmt.Sprintf("records of %s: %s", host, sanitize.Line(fetched.Failed[host].Error())))
	}
	return fetched, nil
}

// OfInventory reports whether a run is one of the inventory, as hosts of the inventory have
// recorded it or as the log of this machine says.
func (l Logs) OfInventory(r *history.Entry) bool {
	return len(r.Keepers) > 0 || r.Header.Invocation.Inventory == project.Absolute(l.Inventory)
}

// NewestOfInventory returns the id of the newest run of the inventory; empty for none.
func (l Logs) NewestOfInventory(all []*history.Entry) string {
	for _, r := range all {
		if l.OfInventory(r) {
			return r.Header.Run
		}
	}
	return ""
}
