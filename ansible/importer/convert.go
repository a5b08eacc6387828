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
	// Kubespray is true when the inventory has the groups of Kubespray.
	Kubespray bool
}

// converter collects the parts of a result.
type converter struct {
	src       *Source
	notes     []Note
	kubespray bool
	off       switches
	names     map[string]string // Ansible's name of a host -> deployer's
	cluster   *mapping
	sans      []any // names and addresses of load balancers, for the API's certificate
}

// Convert translates the inventory. Convert fails only when the result cannot be written
// as YAML; settings without an equivalent are notes.
func (s *Source) Convert() (*Result, error) {
	c := &converter{src: s, notes: slices.Clone(s.notes), names: map[string]string{}, cluster: &mapping{}}
	if c.kubespray = isKubespray(s); c.kubespray {
		c.off = s.switchesOff()
	}
	c.nameHosts()
	root := &mapping{}
	all := maps.Clone(s.groupVars["all"])
	_, ssh := c.connection(all)
	c.clusterVars(all)
	groups := c.groups()
	hosts := c.hosts()
	roles := c.roles()
	c.bastionGroup(ssh)
	c.addSANs()
	root.set("cluster", c.cluster)
	root.set("ssh", ssh)
	root.set("vars", c.free(all))
	root.set("hosts", hosts)
	root.set("groups", groups)
	root.set("roles", roles)
	text, err := c.write(root)
	return &Result{Text: text, Notes: c.notes, Kubespray: c.kubespray}, err
}

func (c *converter) note(at, what, why string) { c.notes = append(c.notes, Note{at, what, why}) }

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
