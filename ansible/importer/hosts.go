package importer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

var notInName = regexp.MustCompile(`[^a-z0-9.-]+`)

// nameHosts gives each host a valid and unique name of lower case letters, digits,
// dashes and dots, and notes each change.
func (c *converter) nameHosts() {
	taken := map[string]bool{}
	for _, h := range c.src.Hosts {
		name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(h), "-"), "-.")
		if strings.Trim(name, "0123456789.") == "" { // an IPv4 address
			name = "host-" + strings.ReplaceAll(name, ".", "-")
		}
		for base, i := name, 2; taken[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		taken[name] = true
		c.names[h] = name
		if name != h {
			c.note("", "host "+h, "is called "+name+": names consist of lower case letters, digits, dashes and dots")
		}
	}
}

func (c *converter) hosts() *mapping {
	out := &mapping{}
	for _, h := range c.src.Hosts {
		if c.kubespray && slices.Contains(c.src.in("bastion"), h) {
			continue // it is a jump host only
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

// nodeAddress returns the address of a host: the given one or, without one, its name
// in Ansible. On a node of Kubespray ip wins over ansible_host, because the cluster uses ip.
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
			c.note(v.at, "ip="+text, "is the address of the host, and ansible_host="+address+" is left out: deployer connects to a node at the address that the cluster uses; a bastion may be needed")
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
