package cluster

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// PodRange is the known state of one node's range of pod addresses.
type PodRange struct {
	Name   string
	OnHost string // ranges in the host's network configuration, separated by commas; empty: none
	InAPI  string // ranges of the Node object, separated by commas; empty: none
	IsNode bool   // true when the Node object exists
	// Gone means that the inventory no longer has this host, but the API still has its Node.
	// Its range stays taken until the Node is deleted.
	Gone bool
}

// PodCIDRs maps each node to its range. Moved are the nodes that lose their range, with
// the reason.
type PodCIDRs struct {
	Ranges map[string][]string `json:"ranges"` // ranges by node, one for each family
	Moved  map[string]string   `json:"moved"`
}

// AllocatePodRanges gives each node a range in each of the cluster's ranges, as [AllocatePodCIDRs]
// does for one.
func (c *Cluster) AllocatePodRanges(nodes []PodRange) (PodCIDRs, error) {
	out := PodCIDRs{Ranges: map[string][]string{}, Moved: map[string]string{}}
	for i, pods := range c.PodCIDRs {
		family := FamilyOf(pods)
		of := slices.Clone(nodes)
		for j, n := range nodes {
			of[j].OnHost, of[j].InAPI = OfFamily(n.OnHost, family), OfFamily(n.InAPI, family)
		}
		one, err := AllocatePodCIDRs(pods, c.NodePrefixes[i], of)
		if err != nil {
			return PodCIDRs{}, err
		}
		for name, ranges := range one.Ranges {
			out.Ranges[name] = append(out.Ranges[name], ranges...)
		}
		for name, why := range one.Moved {
			if first := out.Moved[name]; first != "" {
				why = first + "; " + why
			}
			out.Moved[name] = why
		}
	}
	return out, nil
}

// AllocatePodCIDRs gives each node its range: what a node has is kept, and a new
// node gets the lowest free one, in inventory order.
//
// The range of a Node object is never changed, because the API forbids it. A
// range that two hosts hold goes to the one with a Node object, else to the first
// in the inventory; the other gets a new one. Ranges that no longer fit
// (pod_cidr or node_prefix was changed) are replaced on hosts without a Node
// object, and an error on those with one.
func AllocatePodCIDRs(podCIDR string, nodePrefix int, nodes []PodRange) (PodCIDRs, error) {
	pods, err := parseCIDR(podCIDR)
	if err != nil {
		return PodCIDRs{}, err
	}
	a := &allocation{pods: pods, bits: nodePrefix, owner: map[netip.Prefix]string{}, out: map[string]netip.Prefix{}, moved: map[string]string{}}
	if err := a.keepAPI(nodes); err != nil {
		return PodCIDRs{}, err
	}
	// Hosts with a Node object but without a range come before hosts with neither: pods may
	// already run there.
	for _, withNode := range []bool{true, false} {
		for _, n := range nodes {
			if _, done := a.out[n.Name]; !done && n.IsNode == withNode {
				a.keepHost(n)
			}
		}
	}
	if err := a.fill(nodes); err != nil {
		return PodCIDRs{}, err
	}
	return a.result(nodes), nil
}

type allocation struct {
	pods  netip.Prefix
	bits  int
	owner map[netip.Prefix]string // of ranges of the usual length
	odd   []netip.Prefix          // kept ranges of another length
	out   map[string]netip.Prefix
	moved map[string]string
}

// keepAPI assigns the ranges of Node objects, and reports all that are impossible.
func (a *allocation) keepAPI(nodes []PodRange) error {
	var problems []string
	for _, n := range nodes {
		if n.InAPI == "" {
			continue
		}
		p, err := parseCIDR(n.InAPI)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("node %s: its range %v", n.Name, err))
		case !a.inside(p) && n.Gone:
			continue // takes nothing from the pod range
		case !a.inside(p):
			problems = append(problems, fmt.Sprintf("node %s: its range %s is outside pod_cidr %s and cannot be changed: restore pod_cidr, or delete the Node object", n.Name, p, a.pods))
		case a.taken(p) != "":
			problems = append(problems, fmt.Sprintf("node %s: its range %s is held by node %s too and cannot be changed: delete one of the Node objects", n.Name, p, a.taken(p)))
		default:
			a.give(n.Name, p)
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("pod ranges of nodes: %s", strings.Join(problems, "; "))
	}
	return nil
}

// keepHost keeps the present range of the host if it is valid and free.
func (a *allocation) keepHost(n PodRange) {
	if n.OnHost == "" || n.Gone {
		return
	}
	p, err := parseCIDR(n.OnHost)
	switch {
	case err != nil:
		a.moved[n.Name] = fmt.Sprintf("its range %v", err)
	case !a.inside(p) || p.Bits() != a.bits:
		a.moved[n.Name] = fmt.Sprintf("its range %s is not a /%d of %s", p, a.bits, a.pods)
	case a.taken(p) != "":
		a.moved[n.Name] = fmt.Sprintf("its range %s belongs to %s", p, a.taken(p))
	default:
		a.give(n.Name, p)
	}
}

// fill assigns the lowest free ranges to the other hosts.
func (a *allocation) fill(nodes []PodRange) error {
	var next uint64
	for _, n := range nodes {
		if _, done := a.out[n.Name]; done || n.Gone {
			continue
		}
		for {
			p, ok := nthSubnet(a.pods, a.bits, next)
			if !ok {
				return fmt.Errorf("no pod range is left for node %s: %s has %d ranges of /%d, and all are taken; widen pod_cidr, or delete Node objects of hosts that are gone", n.Name, a.pods, subnetCount(a.pods, a.bits), a.bits)
			}
			next++
			if a.taken(p) == "" {
				a.give(n.Name, p)
				break
			}
		}
	}
	return nil
}

func (a *allocation) inside(p netip.Prefix) bool {
	return p.Bits() >= a.pods.Bits() && a.pods.Contains(p.Addr())
}

func (a *allocation) give(name string, p netip.Prefix) {
	a.out[name] = p
	a.owner[p] = name
	if p.Bits() != a.bits {
		a.odd = append(a.odd, p)
	}
}

// taken returns the holder of a range that overlaps p.
func (a *allocation) taken(p netip.Prefix) string {
	if name, ok := a.owner[p]; ok {
		return name
	}
	for _, o := range a.odd {
		if o.Overlaps(p) {
			return a.owner[o]
		}
	}
	if p.Bits() == a.bits {
		return ""
	}
	first := ""
	for held, name := range a.owner {
		if held.Overlaps(p) && (first == "" || name < first) {
			first = name
		}
	}
	return first
}

func (a *allocation) result(nodes []PodRange) PodCIDRs {
	out := PodCIDRs{Ranges: map[string][]string{}, Moved: map[string]string{}}
	for _, n := range nodes {
		if p, ok := a.out[n.Name]; ok && !n.Gone {
			out.Ranges[n.Name] = []string{p.String()}
		}
	}
	for name, why := range a.moved {
		out.Moved[name] = fmt.Sprintf("%s; it gets %s", why, a.out[name])
	}
	return out
}
