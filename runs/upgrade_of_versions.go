package runs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs/history"
)

// UpgradeToVersions returns the ids of the runs of the upgrade by which the cluster of the
// options' inventory got the versions of that inventory, newest first. An upgrade that a finished
// rollback has restored counts too: Rollback then finds nothing left of it, and does not take back
// the upgrade before it. A *project.UserError says that no such upgrade is known, or that the
// newest one led to other versions.
func (c Runner) UpgradeToVersions(o Options) ([]string, error) {
	p, err := project.LoadCluster(o.Inventory, c.Options)
	if err != nil {
		return nil, err
	}
	all, err := c.allRuns()
	if err != nil {
		return nil, err
	}
	wanted := project.ClusterVersions(p.Cluster)
	found, other := upgradeToVersions(all, o.Inventory, wanted)
	switch {
	case other != nil:
		return nil, project.AsUserError(fmt.Errorf("the newest upgrade that has not been rolled back, run %s, has other versions than %s (%s): to roll it back, run deployer rollback %[1]s",
			other.Header.Run, project.Relative(o.Inventory), differences(wanted, other.Header)))
	case found == nil:
		return nil, project.AsUserError(fmt.Errorf("no upgrade to the versions of %s is known; see deployer runs list --from-hosts", project.Relative(o.Inventory)))
	}
	return UpgradeChain(all, o.Inventory, found.Header.Run), nil
}

// upgradeToVersions returns the newest upgrade to versions, or a newer one to other versions that
// has changed something and that no finished revert has restored; nil for neither.
func upgradeToVersions(newestFirst []*history.Entry, inventory string, versions map[string]string) (found, other *history.Entry) {
	upgrades, reverted := upgradesIn(newestFirst, inventory)
	for _, r := range upgrades {
		switch {
		case maps.Equal(r.Header.Versions, versions):
			return r, nil
		case !reverted[r.Header.Run] && changedByUpgrade(r) == changedSomething:
			return nil, r
		}
	}
	return nil, nil
}

// differences returns the components whose versions differ, for a message.
func differences(wanted map[string]string, h journal.Header) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if got := h.Versions[name]; got != wanted[name] {
			out = append(out, fmt.Sprintf("%s %s, not %s", name, wanted[name], orUnknown(got)))
		}
	}
	if len(out) > 3 {
		out = append(out[:3], "...")
	}
	return strings.Join(out, "; ")
}

func orUnknown(version string) string {
	if version == "" {
		return "a recorded one"
	}
	return fmt.Sprintf("%q", version)
}
