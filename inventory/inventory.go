package inventory

import (
	"slices"

	"gopkg.in/yaml.v3"

	"deployer/limit"
	"deployer/strictyaml"
)

// Inventory is a parsed and consistent inventory file.
type Inventory struct {
	File  string // as given to Load or Parse
	Dir   string // absolute; relative paths in the file are relative to it
	Hosts []Host // in the order of the file
	// Groups holds the hosts of each group and of its descendants, in the order of Hosts.
	Groups map[string][]string
	// GroupNames lists the groups by rising precedence; Children holds the direct children
	// of each group.
	GroupNames []string
	Children   map[string][]string
	// Roles holds the hosts of every role as written; a role without hosts has an empty
	// list.
	Roles map[string][]string
	// Cluster and Artifacts are the undecoded sections, nil when absent. The packages that
	// own their types decode them, with File for messages.
	Cluster   *yaml.Node
	Artifacts *yaml.Node
	// MaxFail is the number of hosts of a group, a role or all that may fail before a run
	// stops; other groups have the engine's default.
	MaxFail map[string]limit.Limit
	// Forks is the maximum number of hosts processed in parallel; 0 means the engine's
	// default.
	Forks int
	// Distribution has the settings for large blobs, with all defaults.
	Distribution Distribution

	index   map[string]int
	secrets []string
	layers  [][]layer // of each host, by rising precedence
	ports   []int     // of each host, the port that its address has; 0 for none
}

// Host is a machine with all its settings, merged.
//
// Its maps are its own; changing them changes no other host.
type Host struct {
	Name    string
	Address string // of the SSH server: an IP address, or a name to be looked up
	// NodeAddress is the IP address at which the other hosts of the cluster reach the host;
	// empty when it is Address.
	NodeAddress string
	// NodeAddressChoice selects NodeAddress where the inventory does not give it. NodeAddress is
	// empty until the choice is recorded beside the inventory.
	NodeAddressChoice   NodeAddressChoice
	NodeAddressRecorded bool // NodeAddress comes from the file beside the inventory
	// ExternalAddress is the IP address or name at which clients outside of the cluster reach
	// the host; empty when they use the node's address.
	ExternalAddress string

	SSH  SSH
	Vars map[string]any
	// Overrides are the component settings of groups and the host, merged deeply.
	Overrides map[string]any
	Labels    map[string]string
	Taints    []string // "key=value:Effect" or "key:Effect"
	Roles     []string
	Groups    []string // by rising precedence
	Pos       strictyaml.Pos
}

// The roles of hosts.
const (
	Master = "master"
	Minion = "minion"
	Etcd   = "etcd"
	Proxy  = "proxy"
)

// RoleNames lists the roles.
func RoleNames() []string { return []string{Master, Minion, Etcd, Proxy} }

// Host returns the host with a name.
func (inv *Inventory) Host(name string) (Host, bool) {
	i, ok := inv.index[name]
	if !ok {
		return Host{}, false
	}
	return inv.Hosts[i], true
}

// Names lists all hosts in the order of the file.
func (inv *Inventory) Names() []string {
	out := make([]string, len(inv.Hosts))
	for i, h := range inv.Hosts {
		out[i] = h.Name
	}
	return out
}

// Secrets lists the texts marked !secret or !env, which must not appear in any output.
func (inv *Inventory) Secrets() []string { return slices.Clone(inv.secrets) }

// AddSecret adds a text to Secrets, which a file beside the inventory has. AddSecret must not be
// called concurrently.
func (inv *Inventory) AddSecret(text string) {
	if text != "" && !slices.Contains(inv.secrets, text) {
		inv.secrets = append(inv.secrets, text)
	}
}

// Table returns the hosts of every group and role, and of the names that always exist:
// all, node (masters and minions), and etcd, which defaults to the masters. Each list is
// in the order of the file.
func (inv *Inventory) Table() map[string][]string {
	out := make(map[string][]string, len(inv.Groups)+len(inv.Roles)+2)
	for name, hosts := range inv.Groups {
		out[name] = slices.Clone(hosts)
	}
	for name, hosts := range inv.Roles {
		out[name] = slices.Clone(hosts)
	}
	if len(out[Etcd]) == 0 {
		out[Etcd] = slices.Clone(out[Master])
	}
	out["all"] = inv.Names()
	out["node"] = inv.sorted(append(slices.Clone(out[Master]), out[Minion]...))
	return out
}

// sorted sorts names of hosts in the order of the file and removes duplicates.
func (inv *Inventory) sorted(names []string) []string {
	at := make([]int, len(names))
	for i, name := range names {
		at[i] = inv.index[name]
	}
	slices.Sort(at)
	at = slices.Compact(at)
	out := make([]string, len(at))
	for i, x := range at {
		out[i] = inv.Hosts[x].Name
	}
	return out
}
