package compare

import (
	"fmt"

	"github.com/Masterminds/semver/v3"

	"deployer/cluster"
	"deployer/shortlist"
)

// calicoDowngrade returns the conflict of versions.calico with nodes that run a newer minor version.
// Calico's documentation describes the way to a newer version only, from any version since v3.15
// (operations/upgrading/kubernetes-upgrade): a newer one may have stored kinds and fields that an older
// one does not know, such as the tiers of policies in v3.29, and would ignore. Patch versions have the
// same kinds and fields.
func calicoDowngrade(want *cluster.Cluster, found InUse) []Conflict {
	wanted, err := semver.NewVersion(want.Versions.Calico)
	if err != nil || want.Network.Plugin != cluster.PluginCalico {
		return nil
	}
	newest, newer := wanted, []string{}
	for _, name := range want.Order {
		v, err := semver.NewVersion(found.Hosts[name].Calico)
		if err != nil || !lowerMinor(wanted, v) {
			continue
		}
		newer = append(newer, name)
		if v.GreaterThan(newest) {
			newest = v
		}
	}
	if len(newer) == 0 {
		return nil
	}
	return []Conflict{{
		Subject: "versions.calico",
		Detail:  fmt.Sprintf("versions.calico is %s, and nodes run up to v%s: %s; Calico has no way to an earlier minor version, which would ignore policies and settings that it does not know", want.Versions.Calico, newest, shortlist.Names(newer, maxNames)),
		Fix:     "set versions.calico to the version that runs; to undo a change of the version that has not ended well, deployer revert RUN, or deployer rollback after an upgrade",
	}}
}

// lowerMinor reports whether the minor version of a is before that of b.
func lowerMinor(a, b *semver.Version) bool {
	return a.Major() < b.Major() || a.Major() == b.Major() && a.Minor() < b.Minor()
}
