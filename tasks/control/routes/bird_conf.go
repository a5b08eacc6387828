package routes

import (
	"regexp"
	"strings"

	"deployer/cluster"
)

// session is one session in deployer's BIRD configuration, by the address of the peer.
type session struct {
	address           string
	client, reflector bool
}

// protocol matches a session in the file of the template network/bird.conf.tmpl, also as
// earlier versions of deployer wrote it.
var protocol = regexp.MustCompile(`(?ms)^protocol bgp '[^']*' from node \{\n  neighbor (\S+) as \d+;\n(.*?)^\}`)

// sessions returns the sessions in a BIRD configuration.
func sessions(conf string) []session {
	var out []session
	for _, m := range protocol.FindAllStringSubmatch(conf, -1) {
		out = append(out, session{address: m[1],
			client: strings.Contains(m[2], "  rr client;\n"),
			// The filter accepts the routes that other nodes announce.
			reflector: strings.Contains(m[2], "bgp_next_hop != ")})
	}
	return out
}

// peers returns the sessions with hosts of the cluster, whose names byAddress has. An
// address that no host has any more is left out.
func peers(conf string, nodes map[string]cluster.Node, byAddress map[string]string) []cluster.Peer {
	out := []cluster.Peer{}
	for _, s := range sessions(conf) {
		if name, ok := byAddress[s.address]; ok {
			node := nodes[name]
			out = append(out, cluster.Peer{Name: name, IP: node.IP, RouterID: node.BGP.RouterID, Client: s.client, Reflector: s.reflector})
		}
	}
	return out
}
