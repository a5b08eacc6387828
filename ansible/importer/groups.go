package importer

import (
	"maps"
	"regexp"
	"slices"
)

// reserved are the names that deployer gives to groups of its own.
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
				c.note("", "ssh settings of group "+g, "are left out, because "+g+" is a role here: set them at the hosts, or under ssh for all")
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

// groupName returns a valid name for a group: Ansible's where possible, otherwise with
// the prefix group_.
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
