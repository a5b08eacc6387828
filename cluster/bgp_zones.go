package cluster

import (
	"cmp"
	"slices"
)

// ZonedTopology decides the sessions of nodes in zones, which may be racks. A full mesh below meshBelow
// nodes. Otherwise two nodes of each zone reflect, or as many as keep each at about perReflector
// sessions: masters first, because a reflector can withhold routes. All reflectors mesh among
// themselves, and every other node is a client of two of its zone, so that a zone which is cut off
// keeps its routes. Nodes without a zone are a zone of their own.
func ZonedTopology(speakers []Speaker, zone map[string]string, meshBelow, perReflector int) Routes {
	if len(speakers) < meshBelow {
		return Topology(speakers, nil, meshBelow, perReflector)
	}
	members := map[string][]Speaker{}
	for _, s := range speakers {
		members[zone[s.Name]] = append(members[zone[s.Name]], s)
	}
	inZone, chosen := map[string][]string{}, map[string]bool{}
	for name, all := range members {
		count := max(sessionsPerNode, (sessionsPerNode*len(all)+perReflector-1)/perReflector)
		byRole := slices.Clone(all)
		slices.SortStableFunc(byRole, func(a, b Speaker) int { return cmp.Compare(weight(a), weight(b)) })
		for _, s := range byRole[:min(count, len(byRole))] {
			inZone[name], chosen[s.Name] = append(inZone[name], s.Name), true
		}
	}
	var reflectors []string
	for _, name := range speakerNames(speakers) {
		if chosen[name] {
			reflectors = append(reflectors, name)
		}
	}
	t := newRoutes(speakers)
	t.reflect(speakers, reflectors, func(node string) []string { return inZone[zone[node]] })
	return t
}
