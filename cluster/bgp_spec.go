package cluster

import (
	"cmp"
	"slices"
)

// BGPSpec is the `cluster.network.bgp:` section.
type BGPSpec struct {
	Peers     []BGPPeerSpec `yaml:"peers" doc:"Routers of your own, such as the top-of-rack routers, with which nodes have BGP sessions. A node announces the range of its pods to them, and advertise. Default: none."`
	RackLabel string        `yaml:"rack_label" doc:"Label of nodes whose value is the rack of the node, for racks with layer-3 networks of their own: nodes have sessions with the nodes of their rack only, and learn the routes to other racks from the routers of peers. Each node needs the label and a router. With plugin bgp only. Default: all nodes are in one layer-2 network."`
	Advertise AdvertiseSpec `yaml:"advertise" doc:"Addresses of Services that nodes announce to the routers of peers. Each node that takes traffic from outside announces all of them, wherever the pods of a Service are; with plugin bgp, Services with externalTrafficPolicy Local are not reached through nodes without their pods."`
}

// BGPPeerSpec is an element of `cluster.network.bgp.peers:`.
type BGPPeerSpec struct {
	Name      string            `yaml:"name" json:"name" doc:"Name of the router: small letters, digits and dashes, at most 40."`
	Address   string            `yaml:"address" json:"address" doc:"IP address of the router."`
	ASN       uint32            `yaml:"asn" json:"asn" doc:"Number of the router's autonomous system."`
	LocalASN  uint32            `yaml:"local_asn" json:"local_asn" doc:"Number of the autonomous system that nodes have in sessions with the router; default network.asn. With plugin bgp only."`
	Nodes     map[string]string `yaml:"nodes" json:"nodes" doc:"Labels of the nodes that have a session with the router, such as rack: a; hosts and groups of the inventory set labels. Default: all nodes."`
	Password  string            `yaml:"password" json:"-" doc:"Password of the sessions by TCP MD5 (RFC 2385), as !env NAME or !secret TEXT: 1 to 80 letters, digits and . _ + / = -. Default: none."`
	BFD       bool              `yaml:"bfd" json:"bfd" doc:"Detect within a second that the router is down, by BFD (RFC 5880) with packets each 300 ms of which three may be lost; the router must have it, too. With plugin bgp only; default false."`
	Hops      int               `yaml:"hops" json:"hops" default:"1" doc:"Maximum number of hops to the router: 1, it is in a network of the node, to 255. From a router further away no routes are accepted."`
	TTLCheck  bool              `yaml:"ttl_security" json:"ttl_security" doc:"Accept only packets of the router that have come over at most hops hops (RFC 5082); the router must do the same. Default false."`
	Accept    []string          `yaml:"accept" json:"accept" doc:"Ranges of addresses: routes of the router to them, and to parts of them, are accepted. Default: none, and those to pods in other racks with rack_label."`
	AcceptAll bool              `yaml:"accept_default_route" json:"accept_default_route" doc:"Accept a default route of the router, which replaces default routes of the host with a metric above 32. Default false."`
}

// AdvertiseSpec is the `cluster.network.bgp.advertise:` section.
type AdvertiseSpec struct {
	ClusterIPs      bool     `yaml:"cluster_ips" doc:"Announce service_cidr; default false."`
	ExternalIPs     []string `yaml:"external_ips" doc:"Ranges of externalIPs of Services; default: none."`
	LoadBalancerIPs []string `yaml:"load_balancer_ips" doc:"Ranges of addresses of Services of type LoadBalancer, which another program assigns; default: none."`
}

func (s BGPSpec) withDefaults() BGPSpec {
	s.Peers = slices.Clone(s.Peers)
	for i, p := range s.Peers {
		s.Peers[i].Hops = cmp.Or(p.Hops, 1)
	}
	return s
}

// selects reports whether a host has sessions with the router.
func (s BGPPeerSpec) selects(h Host) bool {
	if !h.isNode() {
		return false
	}
	for key, value := range s.Nodes {
		if have, ok := h.Labels[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// Advertised are the ranges of Services that nodes announce to routers.
type Advertised struct {
	ClusterIPs      []string // ranges of service_cidr, or none
	ExternalIPs     []string
	LoadBalancerIPs []string
}

func (s AdvertiseSpec) resolve(services string) Advertised {
	out := Advertised{ExternalIPs: s.ExternalIPs, LoadBalancerIPs: s.LoadBalancerIPs}
	if s.ClusterIPs {
		out.ClusterIPs = SplitList(services)
	}
	return out
}

// ranges returns the announced ranges in the order of the settings.
func (s AdvertiseSpec) ranges(services string) []string {
	a := s.resolve(services)
	return append([]string{}, slices.Concat(a.ClusterIPs, a.ExternalIPs, a.LoadBalancerIPs)...)
}
