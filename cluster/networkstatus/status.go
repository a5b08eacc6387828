package networkstatus

import "deployer/cluster"

// Status is the result of a comparison. Lists are never nil.
type Status struct {
	Plugin        string       `json:"plugin"`                  // network plugin of the inventory
	Encapsulation string       `json:"encapsulation,omitempty"` // encapsulation of Calico
	Mesh          bool         `json:"mesh"`                    // true when every node has a session with every other node
	Reflectors    []string     `json:"reflectors"`              // route reflectors of the inventory
	Hosts         []HostStatus `json:"hosts"`                   // nodes of the inventory that were asked, in its order
	Pools         []PoolStatus `json:"pools"`                   // pools of Calico
	Problems      []Problem    `json:"problems"`
}

// HostStatus is the state of a node.
type HostStatus struct {
	Host      string          `json:"host"`
	Failure   string          `json:"failure,omitempty"` // why the host could not be examined
	Reflector bool            `json:"reflector"`         // true when it is a route reflector
	Ranges    []string        `json:"ranges"`            // range of its pods, or blocks of Calico
	Sessions  []SessionStatus `json:"sessions"`
	Routes    RoutesStatus    `json:"routes"`
	Addresses AddressesStatus `json:"addresses"`
	MTU       MTUStatus       `json:"mtu"`
	Checks    []string        `json:"checks"` // names of the checks that found problems of this host
}

// Wanted returns the numbers of wanted sessions and of the established ones of them.
func (h HostStatus) Wanted() (wanted, up int) {
	for _, s := range h.Sessions {
		if s.Wanted {
			wanted++
			if s.State == established {
				up++
			}
		}
	}
	return wanted, up
}

// SessionStatus is a session that a node has, or that the inventory wants.
type SessionStatus struct {
	Family string `json:"family"` // family of the routes that it carries: ipv4 or ipv6; empty when the inventory does not have the peer
	Peer   string `json:"peer"`   // name of the other host or router; empty when the inventory does not have it
	Router bool   `json:"router"` // true for a session with a router outside of the cluster
	Name   string `json:"name"`   // name of BIRD's protocol; empty when BIRD has none
	State  string `json:"state"`  // Established, or why it is not; "not configured" when BIRD does not have it
	Since  string `json:"since"`  // time or date of the last change, as BIRD writes it
	Wanted bool   `json:"wanted"` // true when the inventory wants it
}

// notConfigured is the state of a wanted session that BIRD does not have.
const notConfigured = "not configured"

// RoutesStatus are the routes to the pods of other nodes.
type RoutesStatus struct {
	Known   bool      `json:"known"`   // false when it is not known which ones the node must have
	Wanted  int       `json:"wanted"`  // number of routes that the node must have
	Present int       `json:"present"` // number of those that the kernel has
	Missing []Missing `json:"missing"` // the first of the others
}

// AddressesStatus are the addresses of pods.
type AddressesStatus struct {
	Used  int `json:"used"`
	Total int `json:"total"` // number of addresses of the node's ranges
}

// MTUStatus is the maximum size of packets in bytes; 0 is not known.
type MTUStatus struct {
	Pods    int         `json:"pods"`    // highest MTU of a running pod
	New     int         `json:"new"`     // MTU that new pods get
	Allowed int         `json:"allowed"` // MTU that the way to each other examined node allows
	Uplinks []Interface `json:"uplinks"` // interfaces to other nodes
}

// PoolStatus is the use of a pool.
type PoolStatus struct {
	Pool
	Blocks      int `json:"blocks"`       // number of blocks of nodes
	TotalBlocks int `json:"total_blocks"` // number of blocks that the pool has
	Used        int `json:"used"`         // number of addresses in use
	Total       int `json:"total"`        // number of addresses
}

// Problem is a difference from the inventory, or something that does not work.
type Problem struct {
	Check  string `json:"check"`
	Host   string `json:"host"` // empty for the cluster
	Detail string `json:"detail"`
	Fix    string `json:"fix,omitempty"` // what to do
}

// Names of checks.
const (
	checkAPI      = "Kubernetes API"
	checkHost     = "host"
	checkNode     = "node"
	checkCNI      = "CNI"
	checkBIRD     = "BIRD"
	checkSessions = "sessions"
	checkRoutes   = "routes"
	checkMTU      = "MTU"
	checkPools    = "pools"
	checkRouters  = "routers"
)

// shown bounds the names in a problem.
const shown = 5

// applyFix is the command that brings hosts to the state of the inventory.
const applyFix = "run deployer apply"

// Compare returns the state of the pod network of the hosts in found, compared with the inventory.
func Compare(c *cluster.Cluster, found Observed) Status {
	out := Status{Plugin: c.Network.Plugin, Mesh: c.Network.Mesh, Reflectors: c.Network.Reflectors, Hosts: []HostStatus{}, Pools: []PoolStatus{}, Problems: []Problem{}}
	if c.Network.Plugin == cluster.PluginCalico {
		out.Encapsulation = encapsulation(c)
	}
	m := newComparison(c, found)
	for _, name := range c.NodeNames {
		if m.state[name] != unasked {
			m.examine(name)
		}
	}
	if found.Objects.Error != "" {
		m.report(checkAPI, "", "look at deployer status", "%s", found.Objects.Error)
	}
	for _, name := range c.NodeNames {
		if m.state[name] == unasked {
			continue
		}
		first := len(m.problems)
		h := m.status(name)
		m.problemsOf(name)
		for _, p := range m.problems[first:] {
			h.Checks = append(h.Checks, p.Check)
		}
		if m.lacksRouter(name) {
			h.Checks = append(h.Checks, checkRouters)
		}
		if m.findMTU(name) {
			h.Checks = append(h.Checks, checkMTU)
		}
		out.Hosts = append(out.Hosts, h)
	}
	m.routerProblems()
	m.mtuProblems()
	out.Pools = m.pools()
	out.Problems = append(out.Problems, m.problems...)
	return out
}
