package routes

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"deployer/cluster"
	"deployer/engine"
)

// session is one session in deployer's BIRD configuration, by the address of the peer.
type session struct {
	address           string
	client, reflector bool
}

// protocol matches a session in the file of the template network/bird.conf.tmpl, also as
// earlier versions of deployer wrote it. A dual-stack cluster has one for each family.
var protocol = regexp.MustCompile(`(?ms)^protocol bgp '[^']*' from node(?:_ipv6)? \{\n  neighbor (\S+) as \d+;\n(.*?)^\}`)

// sessions returns the sessions in a BIRD configuration.
func sessions(conf string) []session {
	var out []session
	for _, m := range protocol.FindAllStringSubmatch(conf, -1) {
		out = append(out, session{address: m[1],
			client: strings.Contains(m[2], "  rr client;\n"),
			// The filter accepts the routes that other nodes announce: any, or a list of them.
			reflector: strings.Contains(m[2], "bgp_next_hop != ") || strings.Contains(m[2], reflectorMark)})
	}
	return out
}

// reflectorMark is in the filter of a session with a reflector that is no master.
const reflectorMark = "# The neighbour is a reflector "

// named matches the name of a host in a session's name.
var named = regexp.MustCompile(`(?m)^protocol bgp 'to_([^']{1,64})' from node \{$`)

// PeerNames returns the names of the hosts with which a node has sessions, of the files of the
// pod network that it registered. Sessions with hosts of very long names bear addresses, and are
// left out.
func PeerNames(network engine.Output) []string {
	files, _ := network["files"].(map[string]any)
	conf, _ := files[birdConf].(string)
	var out []string
	for _, m := range named.FindAllStringSubmatch(conf, -1) {
		if _, err := netip.ParseAddr(m[1]); err != nil {
			out = append(out, m[1])
		}
	}
	return out
}

// peers returns the sessions with hosts of the cluster, whose names byAddress has. An
// address that no host has any more is left out. The sessions of both families with a host are one:
// they are made and removed together.
func peers(conf string, nodes map[string]cluster.Node, byAddress map[string]string) []cluster.Peer {
	out := []cluster.Peer{}
	for _, s := range sessions(conf) {
		if name, ok := byAddress[s.address]; ok && !slices.ContainsFunc(out, func(p cluster.Peer) bool { return p.Name == name }) {
			node := nodes[name]
			out = append(out, cluster.Peer{Name: name, IP: node.IP, IPv4: node.BGP.IPv4, IPv6: node.BGP.IPv6, RouterID: node.BGP.RouterID, Client: s.client, Reflector: s.reflector, Master: node.IsMaster})
		}
	}
	return out
}
