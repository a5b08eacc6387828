package importer

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"strings"
)

var notInName = regexp.MustCompile(`[^a-z0-9.-]+`)

// nameHosts gives each host a valid and unique name of lower case letters, digits,
// dashes and dots, and notes each change. A valid name stays with its host.
func (c *converter) nameHosts() {
	taken := map[string]bool{}
	for _, h := range c.src.Hosts {
		if validName(h) == h {
			taken[h] = true
		}
	}
	for _, h := range c.src.Hosts {
		name := validName(h)
		if name == h {
			c.names[h] = h
			continue
		}
		for base, i := name, 2; taken[name]; i++ {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		taken[name] = true
		c.names[h] = name
		c.note(c.src.hostAt[h], "host "+h, "is called "+name+": names consist of lower case letters, digits, dashes and dots")
	}
}

// validName returns a name that a host can have; the same when it is one.
func validName(host string) string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(host), "-"), "-.")
	if strings.Trim(name, "0123456789.") == "" { // an IPv4 address
		name = "host-" + strings.ReplaceAll(name, ".", "-")
	}
	return name
}

func (c *converter) hosts() *mapping {
	out := &mapping{}
	for _, h := range c.src.Hosts {
		if c.isJumpHost(h) {
			c.note(c.src.hostAt[h], "host "+h, "is left out, because it is a jump host and no host of the cluster")
			continue
		}
		vs := maps.Clone(c.src.hostVars[h])
		c.connection(vs)
		l := c.hostLogin(h)
		host := &mapping{}
		if address := cmp.Or(l.address, h); address != c.names[h] {
			host.set("address", address)
		}
		c.nodeAddresses(vs, l.address, host)
		host.set("ssh", l.section().flow())
		c.labels(vs, host)
		host.set("vars", c.free(vs).flow())
		out.put(c.names[h], host.flow())
	}
	return out
}
