package decide

import (
	"deployer/cluster"
	"deployer/keeper/world"
)

// DryRun returns what a keeper with dry_run does not do beside its actions.
func DryRun(s cluster.KeeperSpec, w world.World) (d Decision) {
	const why = "cluster.keeper.dry_run is set"
	for _, n := range Renew(w) {
		d.Blocked = append(d.Blocked, Blocked{"keep the pods of node " + n.Name + ", which is in maintenance", why})
	}
	if s.Profiles != "" {
		d.Blocked = append(d.Blocked, Blocked{"take nodes through maintenance profiles", why})
	}
	if s.Replacement != "" {
		d.Blocked = append(d.Blocked, Blocked{"replace nodes", why})
	}
	return d
}
