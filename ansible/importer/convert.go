package importer

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Result is an imported inventory.
type Result struct {
	Text []byte // the inventory file, with the notes as comments at its end
	// Notes list the settings that were left out or changed.
	Notes []Note
	// Hosts and Groups are the names in the file by those in Ansible. Hosts that are jump
	// hosts only, and groups that are roles, are not there.
	Hosts, Groups map[string]string
	// Kubespray is true when the inventory has the groups of Kubespray.
	Kubespray bool
}

// converter collects the parts of a result.
type converter struct {
	src       *Source
	notes     []Note
	noted     map[Note]bool
	kubespray bool
	off       switches
	names     map[string]string // Ansible's name of a host -> deployer's
	// groupNames are deployer's names of the groups.
	groupNames map[string]string
	order      []string            // groups by rising precedence
	groupsOf   map[string][]string // groups of each host, by rising precedence
	cluster    *mapping
	root       *mapping // the whole inventory
	network    vars     // settings that choose Kubespray's pod network
	balancer   balancer
}

// Convert translates the inventory. Convert fails only when the result cannot be written
// as YAML; settings without an equivalent are notes.
func (s *Source) Convert() (*Result, error) {
	c := &converter{src: s, notes: slices.Clone(s.notes), noted: map[Note]bool{}, names: map[string]string{}, cluster: &mapping{}, network: vars{}}
	if c.kubespray = isKubespray(s); c.kubespray {
		c.off = s.switchesOff()
	}
	c.order = s.order()
	c.groupsOf = s.groupsByHost(c.order)
	c.nameHosts()
	c.nameGroups()
	root := &mapping{}
	c.root = root
	all := maps.Clone(s.groupVars["all"])
	ssh := c.connection(all).section()
	c.clusterVars("all", all)
	c.nodeInterface(all, root)
	groups := c.groups()
	hosts := c.hosts()
	c.podNetwork()
	c.families()
	roles := c.roles()
	c.bastionGroup(ssh)
	c.addBalancer()
	root.set("cluster", c.cluster)
	root.set("ssh", ssh)
	root.set("vars", c.free(all))
	root.set("hosts", hosts)
	root.set("groups", groups)
	root.set("roles", roles)
	text, err := c.write(root)
	r := &Result{Text: text, Notes: c.notes, Kubespray: c.kubespray, Hosts: map[string]string{}, Groups: map[string]string{}}
	for _, h := range s.Hosts {
		if !c.isJumpHost(h) {
			r.Hosts[h] = c.names[h]
		}
	}
	for _, g := range s.Groups {
		if !c.isRole(g) {
			r.Groups[g] = c.groupNames[g]
		}
	}
	return r, err
}

// note adds a note, once: the hosts of a range share their settings.
func (c *converter) note(at, what, why string) {
	if n := (Note{at, what, why}); !c.noted[n] {
		c.noted[n] = true
		c.notes = append(c.notes, n)
	}
}

// write prints the inventory, and the notes as comments behind it.
func (c *converter) write(root *mapping) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(encode(root)); err != nil {
		return nil, fmt.Errorf("writing the inventory: %w", err)
	}
	if len(c.notes) > 0 {
		b.WriteString("\n# Not taken over as it was:\n")
	}
	for _, n := range c.notes {
		fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(n.String(), "\n", " "))
	}
	return b.Bytes(), nil
}
