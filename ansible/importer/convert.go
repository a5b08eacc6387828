package importer

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Result is an inventory in deployer's words.
type Result struct {
	Text []byte // the file, with the notes as comments at its end
	// Notes are what was not taken over, or not as it was.
	Notes []Note
	// Kubespray is true when the inventory was recognized as one of its own.
	Kubespray bool
}

// converter gathers the parts of a result.
type converter struct {
	src       *Source
	notes     []Note
	kubespray bool
	names     map[string]string // Ansible's name of a host -> ours
	cluster   *mapping
	sans      []any // of a load balancer, for the API's certificate
}

// Convert says the inventory in deployer's words.
func (s *Source) Convert() (*Result, error) {
	c := &converter{src: s, notes: slices.Clone(s.notes), names: map[string]string{}, cluster: &mapping{}}
	c.kubespray = isKubespray(s)
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

// templated notes a setting that holds Jinja, where only a value can stand.
func (c *converter) templated(name string, v value) bool {
	if !hasJinja(v.v) {
		return false
	}
	c.note(v.at, fmt.Sprintf("%s: %v", name, v.v), "an expression cannot stand here: give the value")
	return true
}

// translated is a variable whose texts are those of deployer; false, and noted, when one
// of them has no equivalent.
func (c *converter) translated(name string, v value) (value, bool) {
	if !hasJinja(v.v) {
		return v, true
	}
	out, err := c.translate(v.v)
	if err != nil {
		c.note(v.at, fmt.Sprintf("%s: %v", name, v.v), err.Error())
		return v, false
	}
	return value{v: out, at: v.at}, true
}

func (c *converter) translate(v any) (any, error) {
	switch t := v.(type) {
	case string:
		if !hasJinja(t) {
			return t, nil
		}
		if c.src.Translate == nil {
			return nil, errors.New("has a Jinja template: give the value")
		}
		return c.src.Translate(t)
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			var err error
			if out[i], err = c.translate(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(t))
		for k, e := range t {
			var err error
			if out[k], err = c.translate(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}

func hasJinja(v any) bool {
	switch t := v.(type) {
	case string:
		return strings.Contains(t, "{{") || strings.Contains(t, "{%")
	case []any:
		return slices.ContainsFunc(t, hasJinja)
	case map[string]any:
		for _, e := range t {
			if hasJinja(e) {
				return true
			}
		}
	}
	return false
}

// free are the variables that playbooks use; Jinja that cannot be translated is noted.
func (c *converter) free(vs vars) *mapping {
	out := &mapping{}
	for _, name := range vs.names() {
		v, said := c.translated(name, vs[name])
		switch {
		case !said:
		case c.kubespray:
			c.note(v.at, describe(name, v.v), "no equivalent")
		case secretName.MatchString(name):
			out.set(name, secret(v.v))
			c.note(v.at, name, "looks like a secret and is marked so; `deployer secrets encrypt` keeps such files encrypted")
		default:
			out.set(name, v.v)
		}
	}
	return out
}

// describe shows a variable on one line, but not the value of a secret.
func describe(name string, v any) string {
	if secretName.MatchString(name) {
		return name
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	n := encode(v)
	n.Style |= yaml.FlowStyle
	if enc.Encode(n) != nil {
		return name
	}
	text := []rune(strings.Join(strings.Fields(b.String()), " "))
	if len(text) > 100 {
		text = append(text[:100], '…')
	}
	return name + ": " + string(text)
}

var notInName = regexp.MustCompile(`[^a-z0-9.-]+`)

// nameHosts makes names that Kubernetes and deployer take: lower case letters,
// digits, dashes and dots.
func (c *converter) nameHosts() {
	taken := map[string]bool{}
	for _, h := range c.src.Hosts {
		name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(h), "-"), "-.")
		if strings.Trim(name, "0123456789.") == "" { // an address
			name = "host-" + strings.ReplaceAll(name, ".", "-")
		}
		for base, i := name, 2; taken[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		taken[name] = true
		c.names[h] = name
		if name != h {
			c.note("", "host "+h, "is called "+name+": names are of lower case letters, digits, dashes and dots")
		}
	}
}

func (c *converter) hosts() *mapping {
	out := &mapping{}
	for _, h := range c.src.Hosts {
		if c.kubespray && slices.Contains(c.src.in("bastion"), h) {
			continue // only the way to the others
		}
		vs := maps.Clone(c.src.hostVars[h])
		address, ssh := c.connection(vs)
		host := &mapping{}
		address = c.nodeAddress(vs, address, h)
		if address != "" && address != c.names[h] {
			host.set("address", address)
		}
		host.set("ssh", ssh.flow())
		c.labels(vs, host)
		host.set("vars", c.free(vs).flow())
		out.put(c.names[h], host.flow())
	}
	return out
}

// nodeAddress is where a host is reached: what was said, or its former name.
func (c *converter) nodeAddress(vs vars, address, host string) string {
	if !c.kubespray {
		if address == "" {
			return host
		}
		return address
	}
	for _, name := range []string{"ip", "access_ip"} {
		v, ok := vs[name]
		if !ok {
			continue
		}
		delete(vs, name)
		text := fmt.Sprint(v.v)
		switch {
		case hasJinja(text):
			c.note(v.at, name+": "+text, "has a Jinja template")
		case name == "ip" && address != "" && address != text:
			c.note(v.at, "ip="+text, "is the address of the host, and ansible_host="+address+" is left out: deployer reaches a node by the address that the cluster uses; a bastion may be needed")
			address = text
		case address == "":
			address = text
		}
	}
	delete(vs, "etcd_member_name") // members are named after their hosts
	if address == "" {
		return host
	}
	return address
}

// reserved are the names that groups cannot have.
var reserved = []string{"all", "node", "master", "minion", "etcd", "proxy"}

var groupName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func (c *converter) groups() *mapping {
	out := &mapping{}
	names := slices.Sorted(slices.Values(c.src.Groups))
	for _, g := range names {
		vs := maps.Clone(c.src.groupVars[g])
		_, ssh := c.connection(vs)
		group := &mapping{}
		group.set("ssh", ssh)
		if c.kubespray && isKubesprayGroup(g) {
			c.clusterVars(vs)
			c.labelsOfRole(g, vs)
			if !ssh.empty() {
				c.note("", "ssh settings of group "+g, "are given to the hosts one by one or to all: "+g+" is a role here")
			}
			c.free(vs)
			continue
		}
		var members []any
		for _, h := range c.src.members[g] {
			members = append(members, c.names[h])
		}
		var children []any
		for _, child := range c.src.children[g] {
			children = append(children, c.groupName(child))
		}
		body := &mapping{}
		if members != nil {
			body.set("hosts", members)
		}
		if children != nil {
			body.set("children", children)
		}
		body.set("ssh", ssh)
		c.labels(vs, body)
		body.set("vars", c.free(vs))
		out.put(c.groupName(g), body)
		if ours := c.groupName(g); ours != g {
			c.note("", "group "+g, "is called "+ours+" here")
		}
	}
	return out
}

// groupName is a name that deployer takes for a group.
func (c *converter) groupName(g string) string {
	isHost := slices.ContainsFunc(c.src.Hosts, func(h string) bool { return c.names[h] == g })
	if slices.Contains(reserved, g) || isHost {
		return "group_" + g
	}
	if !groupName.MatchString(g) {
		return "group_" + regexp.MustCompile(`[^A-Za-z0-9_-]`).ReplaceAllString(g, "_")
	}
	return g
}

// write prints the file and, as comments, what is not in it.
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

// String is the note on one line.
func (n Note) String() string {
	text := n.What + ": " + n.Why
	if n.At != "" {
		return n.At + ": " + text
	}
	return text
}
