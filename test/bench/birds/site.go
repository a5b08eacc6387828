package main

import (
	"fmt"
	"net/netip"
	"strings"

	"deployer/cluster"
	"deployer/engine/lang"
	"deployer/jsontypes"
	"deployer/tasks/bgp"
	"deployer/templates"
)

// The pod ranges of the cluster: a /24 for each node of a /15.
const (
	podCIDR    = "10.128.0.0/15"
	podPrefix  = 15
	nodePrefix = 24
)

// masters is the number of masters, which are the reflectors.
const masters = 3

// site is a cluster whose nodes exchange routes.
type site struct {
	cluster *cluster.Cluster
	vars    map[string]any // variables of all hosts
	hosts   map[string]any // variable host of each
	ranges  map[string]any
	tpl     *lang.Template
}

// newSite returns a cluster of n nodes with some reflectors, or with a full mesh. Names, addresses and pod
// ranges of the first nodes are the same in a cluster of any size.
func newSite(n, reflectors int) (*site, error) {
	spec := cluster.Spec{PodCIDR: podCIDR, NodePrefix: nodePrefix, Network: cluster.NetworkSpec{MeshBelow: n + 1}}
	var hosts []cluster.Host
	for i := range n {
		name, role := fmt.Sprintf("n%03d", i+1), cluster.RoleMinion
		if i < masters {
			name, role = fmt.Sprintf("m%d", i+1), cluster.RoleMaster
		}
		if i < reflectors {
			spec.Network.Reflectors = append(spec.Network.Reflectors, name)
		}
		hosts = append(hosts, cluster.Host{Name: name, Address: address(i).String(), Roles: []string{role}})
	}
	c, err := cluster.Resolve(spec, hosts)
	if err != nil {
		return nil, err
	}
	s := &site{cluster: c, hosts: map[string]any{}, ranges: map[string]any{}}
	base := netip.MustParsePrefix(podCIDR).Addr().As4()
	for i, name := range c.NodeNames {
		s.ranges[name] = fmt.Sprintf("%d.%d.%d.0/%d", base[0], int(base[1])+i>>8, i&0xff, nodePrefix)
		if s.hosts[name], err = jsontypes.FromGo(c.Nodes[name]); err != nil {
			return nil, err
		}
	}
	wide, err := jsontypes.FromGo(c)
	if err != nil {
		return nil, err
	}
	s.vars = map[string]any{"cluster": wide, "hosts": s.hosts, "pod_cidrs": s.ranges}
	files := lang.NewFiles("role network", "", nil, lang.SearchDir{Tree: lang.Tree{Name: "templates", FS: templates.FS}, Dir: "network", Templates: true})
	s.tpl, err = files.Template("bird.conf.tmpl")
	return s, err
}

// address returns the address of the node with an index.
func address(i int) netip.Addr {
	i += 11
	return netip.AddrFrom4([4]byte{10, 99, byte(i >> 8), byte(i)})
}

// conf returns the configuration of a node's BIRD, with the password of the sessions in a file of the
// benchmark.
func (s *site) conf(name, passwordFile string) (string, error) {
	node, _ := s.hosts[name].(map[string]any)
	peers := node["bgp"].(map[string]any)["peers"]
	text, err := s.tpl.Content(map[string]any{"host": node, "bgp_peers": peers, "cluster": s.vars["cluster"], "hosts": s.vars["hosts"], "pod_cidrs": s.vars["pod_cidrs"]})
	if err != nil {
		return "", fmt.Errorf("configuration of %s: %w", name, err)
	}
	if strings.Count(text, bgp.DefaultPath) != 1 {
		return "", fmt.Errorf("configuration of %s does not include %s once", name, bgp.DefaultPath)
	}
	return strings.Replace(text, bgp.DefaultPath, passwordFile, 1), nil
}

// sessions returns the number of sessions of all nodes; each one has two ends.
func (s *site) sessions() int {
	ends := 0
	for _, name := range s.cluster.NodeNames {
		ends += len(s.cluster.Nodes[name].BGP.Peers)
	}
	return ends / 2
}
