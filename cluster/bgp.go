package cluster

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"net/netip"
	"slices"
)

// Values of cluster.network.plugin.
const (
	// PluginBGP: nodes exchange their pod ranges over BGP.
	PluginBGP = "bgp"
	// PluginNone: the pod network comes from elsewhere, when the API of the cluster is there.
	PluginNone = "none"
)

// Values of cluster.network.authentication.
const (
	AuthenticationAuto = "auto"
	AuthenticationMD5  = "md5"
	AuthenticationNone = "none"
)

// sessionsPerNode is the number of reflectors of an ordinary node. With two, every route
// still arrives when one fails or is in maintenance.
const sessionsPerNode = 2

// Speaker is a node that exchanges routes.
type Speaker struct {
	Name   string
	IP     netip.Addr
	Second netip.Addr // address of the other family in a dual-stack cluster; the zero Addr without one
	Master bool
}

// Routes describes the sessions of all speakers. All are in one autonomous system
// (iBGP), so a route learned from a neighbour is not passed on, except by a reflector to
// and from its clients (RFC 4456).
type Routes struct {
	Mesh       bool
	Reflectors []string            // in inventory order; empty in a mesh
	Peers      map[string][]string // neighbours of each node, in inventory order
	speakers   map[string]Speaker
	ids        map[string]string          // router ids
	clients    map[string]map[string]bool // of each reflector
}

// Topology decides the sessions. A full mesh below meshBelow nodes when no
// reflector is named. Otherwise reflectors mesh among themselves and every other
// node is a client of two of them (of one, when only one is named).
//
// Reflectors that are not named are masters: a reflector can withhold the routes of its
// clients, and the host of a master controls the cluster anyway. As many are chosen as keep
// each at about perReflector sessions, and all of them where that is more than there are; only
// beside a single master minions reflect as well.
//
// The two reflectors of a node follow from the names alone (the highest of a hash of
// both), so a node that is added or removed moves no other node, and a reflector that
// is added or removed moves only its share.
func Topology(speakers []Speaker, named []string, meshBelow, perReflector int) Routes {
	t := newRoutes(speakers)
	t.Mesh = len(named) == 0 && len(speakers) < meshBelow
	if t.Mesh {
		names := speakerNames(speakers)
		for _, n := range names {
			t.Peers[n] = others(names, n)
		}
		return t
	}
	all := reflectors(speakers, named, perReflector)
	t.reflect(speakers, all, func(string) []string { return all })
	return t
}

// newRoutes returns the routes of speakers without any session.
func newRoutes(speakers []Speaker) Routes {
	t := Routes{
		Peers: map[string][]string{}, Reflectors: []string{}, clients: map[string]map[string]bool{},
		speakers: map[string]Speaker{}, ids: routerIDs(speakers),
	}
	for _, s := range speakers {
		t.speakers[s.Name] = s
	}
	return t
}

// reflect adds the sessions of reflectors with each other. The function of returns the reflectors from
// which a node that is none gets two.
func (t *Routes) reflect(speakers []Speaker, reflectors []string, of func(node string) []string) {
	t.Reflectors = reflectors
	for _, r := range t.Reflectors {
		t.clients[r] = map[string]bool{}
		t.Peers[r] = others(t.Reflectors, r)
	}
	for _, n := range speakerNames(speakers) {
		if slices.Contains(t.Reflectors, n) {
			continue
		}
		t.Peers[n] = pick(n, of(n))
		for _, r := range t.Peers[n] {
			t.clients[r][n] = true
			t.Peers[r] = append(t.Peers[r], n)
		}
	}
}

func speakerNames(speakers []Speaker) []string {
	var names []string
	for _, s := range speakers {
		names = append(names, s.Name)
	}
	return names
}

// reflectors returns the named reflectors, or chooses them.
func reflectors(speakers []Speaker, named []string, perReflector int) []string {
	var out []string
	if len(named) > 0 {
		for _, s := range speakers {
			if slices.Contains(named, s.Name) {
				out = append(out, s.Name)
			}
		}
		return out
	}
	count := reflectorCount(len(speakers), perReflector)
	byRole := slices.Clone(speakers)
	slices.SortStableFunc(byRole, func(a, b Speaker) int { return cmp.Compare(weight(a), weight(b)) })
	masters := 0
	for _, s := range speakers {
		masters += 1 - weight(s)
	}
	if masters >= sessionsPerNode {
		count = min(count, masters)
	}
	for _, s := range byRole[:min(count, len(byRole))] {
		out = append(out, s.Name)
	}
	return out
}

func weight(s Speaker) int {
	if s.Master {
		return 0
	}
	return 1
}

// reflectorCount returns the number of reflectors to choose: as many as keep each at
// perReflector sessions on average, and at least three, so that with one in maintenance
// a failure of a second one affects only the nodes of exactly these two.
func reflectorCount(nodes, perReflector int) int {
	sessions := sessionsPerNode * nodes
	return max(3, (sessions+perReflector-1)/perReflector)
}

// pick returns the reflectors of a node: those with the highest hash of both names
// (rendezvous hashing), in the order of the reflectors.
func pick(node string, reflectors []string) []string {
	ranked := slices.Clone(reflectors)
	slices.SortStableFunc(ranked, func(a, b string) int { return cmp.Compare(pairHash(node, b), pairHash(node, a)) })
	ranked = ranked[:min(sessionsPerNode, len(ranked))]
	return slices.DeleteFunc(slices.Clone(reflectors), func(r string) bool { return !slices.Contains(ranked, r) })
}

func pairHash(a, b string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(a + "\x00" + b)) // a hash never fails
	// FNV's high bits barely depend on the last bytes, so splitmix64 mixes them.
	x := h.Sum64()
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

func others(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}

// routerIDs gives every node its id: its IPv4 address. The id of an IPv6 node is derived
// from its address; on a collision the later node in the inventory takes the next free
// number. An id only has to be unique and not 0.
func routerIDs(speakers []Speaker) map[string]string {
	out, taken := map[string]string{}, map[uint32]bool{}
	for _, s := range speakers {
		id := addressNumber(s.IP)
		for id == 0 || taken[id] {
			id++
		}
		taken[id] = true
		var b [4]byte
		binary.BigEndian.PutUint32(b[:], id)
		out[s.Name] = netip.AddrFrom4(b).String()
	}
	return out
}

func addressNumber(ip netip.Addr) uint32 {
	if ip.Is4() {
		b := ip.As4()
		return binary.BigEndian.Uint32(b[:])
	}
	h := fnv.New32a()
	_, _ = h.Write(ip.AsSlice()) // a hash never fails
	return h.Sum32()
}

// node returns the part of one node.
func (t Routes) node(name string, asn uint32) BGP {
	id := t.ids[name]
	out := BGP{ASN: asn, RouterID: id, IsReflector: slices.Contains(t.Reflectors, name), Peers: []Peer{}, Routers: []Router{}, Advertised: []string{}}
	out.IPv4, out.IPv6 = t.speakers[name].byFamily()
	if out.IsReflector {
		// Each reflector has a cluster id of its own: two reflectors with one id would drop each
		// other's routes, and a client of only one of them would miss routes.
		out.ClusterID = id
	}
	for _, p := range t.Peers[name] {
		s := t.speakers[p]
		peer := Peer{Name: p, IP: s.IP.String(), RouterID: t.ids[p], Client: t.clients[name][p], Reflector: slices.Contains(t.Reflectors, p), Master: s.Master}
		peer.IPv4, peer.IPv6 = s.byFamily()
		out.Peers = append(out.Peers, peer)
	}
	return out
}

// topology returns the topology of the cluster being resolved.
func (r *resolver) topology() Routes {
	if !r.spec.Network.routesByBGP() {
		return Routes{Reflectors: []string{}}
	}
	var speakers []Speaker
	rack, zone := map[string]string{}, map[string]string{}
	for _, h := range r.hosts {
		if h.isNode() {
			rack[h.Name], zone[h.Name] = r.rack(h), h.Labels[r.spec.Network.ReflectorLabel]
			speakers = append(speakers, Speaker{Name: h.Name, IP: h.ip(), Second: h.second(r.spec.families()), Master: h.has(RoleMaster)})
		}
	}
	n := r.spec.Network
	switch {
	case n.BGP.RackLabel != "":
		return rackTopology(speakers, rack, n.MeshBelow, n.NodesPerReflector)
	case n.ReflectorLabel != "":
		return ZonedTopology(speakers, zone, n.MeshBelow, n.NodesPerReflector)
	}
	return Topology(speakers, n.Reflectors, n.MeshBelow, n.NodesPerReflector)
}
