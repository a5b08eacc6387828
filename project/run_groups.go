package project

import (
	"fmt"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/inventory"
)

// The groups that verbs add to those of the inventory.
const (
	GroupJoining = "joining"
	GroupLeaving = "leaving"
)

// RunGroups are groups that a verb adds to those of the inventory for one run. The zero
// value adds none.
type RunGroups struct {
	// Joining are hosts of the inventory that are not in the cluster yet.
	Joining []string
	// Leaving are hosts of the inventory that leave the cluster. The cluster is resolved
	// as if they had no role, and the run still connects to them.
	Leaving []string
	// KeepNodes makes hosts in Leaving minions: they are masters until then, and the cluster
	// is resolved with them as minions.
	KeepNodes bool
	// Dead are names that leave the cluster without any work on their hosts: they are
	// resolved as if they had no role, and are no hosts of the run. The inventory need not
	// have them.
	Dead []string
}

// SelectHosts returns the hosts of an inventory that match at least one of the patterns,
// in inventory order. A pattern that is unknown or matches no host is a *UserError.
func SelectHosts(inv *inventory.Inventory, patterns []string) ([]string, error) {
	var out []string
	for _, pattern := range patterns {
		found, err := inv.Match(pattern)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("pattern %q matches no host", pattern)
		}
		if err != nil {
			return nil, AsUserError(err)
		}
		out = append(out, found...)
	}
	return slices.DeleteFunc(inv.Names(), func(name string) bool { return !slices.Contains(out, name) }), nil
}

// check returns an error for groups that the project cannot have.
func (g RunGroups) check(inv *inventory.Inventory) error {
	for name, hosts := range map[string][]string{GroupJoining: g.Joining, GroupLeaving: g.Leaving} {
		if _, taken := inv.Groups[name]; taken && len(hosts) > 0 {
			return AsUserError(fmt.Errorf("%s: the inventory has a group %q, a name that this command needs for its own hosts: rename the group", inv.File, name))
		}
		for _, host := range hosts {
			if _, known := inv.Host(host); !known {
				return AsUserError(fmt.Errorf("%s: there is no host %q", inv.File, host))
			}
		}
	}
	return nil
}

// gone returns the names whose roles change.
func (g RunGroups) gone() []string { return append(slices.Clone(g.Leaving), g.Dead...) }

// change returns the hosts with the roles that they have when the hosts have left.
func (g RunGroups) change(hosts []cluster.Host) []cluster.Host {
	if g.KeepNodes {
		return cluster.WithoutControlPlane(hosts, g.Leaving)
	}
	return cluster.WithoutRoles(hosts, g.gone())
}

// depart sets Departure from the cluster before, and checks that the cluster works
// without the hosts that leave it.
func (p *Project) depart(before *cluster.Cluster) error {
	var problems cluster.Problems
	if p.Groups.KeepNodes {
		p.Departure = cluster.NewDemotion(before, p.Cluster, p.Groups.Leaving)
		problems = p.Departure.CheckDemotion(before, p.Cluster)
	} else {
		p.Departure = cluster.NewDeparture(before, p.Groups.Leaving, p.Groups.Dead)
		problems = p.Departure.Check(before, p.Cluster)
	}
	if len(problems) > 0 {
		return AsUserError(fmt.Errorf("%s cannot leave the cluster: %w", strings.Join(p.Groups.gone(), ", "), problems))
	}
	return nil
}

// addRunGroups adds the groups of the verb to those of patterns, and hosts that leave to
// the hosts of the run.
func (p *Project) addRunGroups() {
	p.Hosts = slices.DeleteFunc(p.Inventory.Names(), func(name string) bool {
		return !slices.Contains(p.Hosts, name) && !slices.Contains(p.Groups.Leaving, name)
	})
	p.groups["all"] = p.Hosts
	p.groups[GroupJoining], p.groups[GroupLeaving] = p.Groups.Joining, p.Groups.Leaving
}
