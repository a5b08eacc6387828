package importer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// reserved are the names that deployer gives to groups of its own.
var reserved = []string{"all", "node", "master", "minion", "etcd", "proxy"}

var (
	groupName      = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	notInGroupName = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// groups writes the groups by rising precedence: deployer applies the groups of a host in
// the order of the file, where no group stands before its parent.
func (c *converter) groups() *mapping {
	out := &mapping{}
	for _, g := range c.order {
		vs := maps.Clone(c.src.groupVars[g])
		l := c.connection(vs)
		if c.isRole(g) {
			c.clusterVars(g, vs)
			if slices.Contains(wholeClusterGroups, g) {
				c.nodeInterface(vs, c.root)
			}
			c.labelsOfRole(g, vs)
			c.free(vs)
			continue
		}
		body := c.members(g)
		if g == "ungrouped" && body.empty() {
			continue
		}
		body.set("ssh", l.section())
		c.labels(vs, body)
		c.nodeInterface(vs, body)
		body.set("vars", c.free(vs))
		out.put(c.groupNames[g], body)
		if ours := c.groupNames[g]; ours != g {
			c.note(c.src.groupAt[g], "group "+g, "is called "+ours+" here, and in `hosts:` and `groups` of playbooks")
		}
	}
	return out
}

// isRole reports whether a group is a role of Kubespray, which is no group here.
func (c *converter) isRole(group string) bool { return c.kubespray && isKubesprayGroup(group) }

// members returns the hosts and children of a group. Roles cannot be children: their hosts
// stand in their place.
func (c *converter) members(group string) *mapping {
	hosts := c.src.members[group]
	var children []any
	for _, child := range c.src.children[group] {
		if !c.isRole(child) {
			children = append(children, c.groupNames[child])
			continue
		}
		hosts = append(slices.Clone(hosts), c.src.in(child)...)
		c.note(c.src.groupAt[group], fmt.Sprintf("child %s of group %s", child, group), "is a role here: its hosts are listed instead, without those that join later")
	}
	out := &mapping{}
	var named []any
	seen := map[string]bool{}
	for _, h := range hosts {
		if !seen[h] && !c.isJumpHost(h) {
			named = append(named, c.names[h])
		}
		seen[h] = true
	}
	if named != nil {
		out.set("hosts", named)
	}
	if children != nil {
		out.set("children", children)
	}
	return out
}

// nameGroups gives each group a valid and unique name: Ansible's where possible,
// otherwise with the prefix group_.
func (c *converter) nameGroups() {
	taken := map[string]bool{}
	for _, h := range c.src.Hosts {
		taken[c.names[h]] = true
	}
	for _, g := range reserved {
		taken[g] = true
	}
	c.groupNames = map[string]string{"ungrouped": "ungrouped"}
	var invalid []string
	for _, g := range c.src.Groups {
		if taken[g] || !groupName.MatchString(g) {
			invalid = append(invalid, g)
			continue
		}
		c.groupNames[g], taken[g] = g, true
	}
	for _, g := range invalid {
		base := "group_" + notInGroupName.ReplaceAllString(g, "_")
		name := base
		for i := 2; taken[name]; i++ {
			name = fmt.Sprintf("%s_%d", base, i)
		}
		c.groupNames[g], taken[name] = name, true
	}
}
