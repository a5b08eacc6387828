package cluster

import (
	"cmp"
	"maps"
)

// Router is a BGP session of a node with a router outside of the cluster.
type Router struct {
	Name               string   `json:"name"`                 // name of the router
	Session            string   `json:"session"`              // name of BIRD's protocol
	IP                 string   `json:"ip"`                   // address of the router
	ASN                uint32   `json:"asn"`                  // number of the router's autonomous system
	LocalASN           uint32   `json:"local_asn"`            // number of the node's autonomous system in this session
	HasPassword        bool     `json:"has_password"`         // true when the session has a password
	Password           string   `json:"password"`             // password of the session; empty without one
	BFD                bool     `json:"bfd"`                  // true when BFD detects that the router is down
	Hops               int      `json:"hops"`                 // maximum number of hops to the router
	TTLSecurity        bool     `json:"ttl_security"`         // true when packets that come from further away are dropped
	Accept             []string `json:"accept"`               // ranges of the routes that are accepted
	AcceptDefaultRoute bool     `json:"accept_default_route"` // true when a default route is accepted
}

// routerSession returns the name of BIRD's session with a router (templates/network/bird-routers.tmpl).
func routerSession(plugin string, p BGPPeerSpec) string {
	if plugin == PluginCalico {
		return CalicoSession(CalicoPeerSession, p.Address)
	}
	return "router_" + p.Name
}

// excludedLabel keeps traffic from outside away from a node. Calico, too, announces no Services from
// such a node (confd/pkg/backends/calico/routes.go).
const excludedLabel = "node.kubernetes.io/exclude-from-external-load-balancers"

// addRouters adds the sessions with routers outside of the cluster to those of a node.
func (r *resolver) addRouters(h Host, n *Node) {
	s := r.spec.Network.BGP
	n.BGP.Rack = r.rack(h)
	for _, p := range s.Peers {
		if !p.selects(h) {
			continue
		}
		n.BGP.Routers = append(n.BGP.Routers, Router{
			Name: p.Name, Session: routerSession(r.spec.Network.Plugin, p), IP: p.Address, ASN: p.ASN, LocalASN: cmp.Or(p.LocalASN, r.spec.Network.ASN),
			HasPassword: p.Password != "", Password: p.Password, BFD: p.BFD, Hops: p.Hops, TTLSecurity: p.TTLCheck,
			Accept: orEmpty(p.Accept), AcceptDefaultRoute: p.AcceptAll,
		})
	}
	if _, excluded := n.Labels[excludedLabel]; len(n.BGP.Routers) > 0 && !excluded {
		n.BGP.Advertised = s.Advertise.ranges(r.spec.ServiceCIDR)
	}
}

// rack returns the value of the host's rack label; empty when racks have no networks of their own.
func (r *resolver) rack(h Host) string {
	if r.spec.Network.BGP.RackLabel == "" || !h.isNode() {
		return ""
	}
	return h.Labels[r.spec.Network.BGP.RackLabel]
}

// rackTopology decides the sessions inside of racks: those of [Topology] for the nodes of each rack.
// Nodes of different racks have no sessions.
func rackTopology(speakers []Speaker, rack map[string]string, meshBelow, perReflector int) Routes {
	out := newRoutes(speakers)
	out.Mesh = true
	racks := map[string][]Speaker{}
	for _, s := range speakers {
		racks[rack[s.Name]] = append(racks[rack[s.Name]], s)
	}
	reflects := map[string]bool{}
	for _, members := range racks {
		t := Topology(members, nil, meshBelow, perReflector)
		out.Mesh = out.Mesh && t.Mesh
		maps.Copy(out.Peers, t.Peers)
		for _, name := range t.Reflectors {
			reflects[name], out.clients[name] = true, t.clients[name]
		}
	}
	for _, s := range speakers {
		if reflects[s.Name] {
			out.Reflectors = append(out.Reflectors, s.Name)
		}
	}
	return out
}

// plainPeerPasswords returns a problem for each password of a router that is not marked as secret.
func plainPeerPasswords(c *Cluster, isSecret func(string) bool) Problems {
	var out Problems
	for i, p := range c.Network.PeerSpecs {
		if p.Password != "" && !isSecret(p.Password) {
			out = append(out, Problem{Code: "plain-secret", Subject: keyPeer(i) + ".password",
				Message: "the password would be visible in output: write !env NAME, which reads it from an environment variable, or !secret TEXT"})
		}
	}
	return out
}
