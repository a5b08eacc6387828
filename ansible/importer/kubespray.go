package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// The groups of Kubespray (inventory/sample/inventory.ini): the current names, and the
// names with dashes from before 2021.
var (
	masterGroups = []string{"kube_control_plane", "kube-master"}
	nodeGroups   = []string{"kube_node", "kube-node"}
	restGroups   = []string{"etcd", "k8s_cluster", "k8s-cluster", "calico_rr", "calico-rr", "bastion"}
)

func isKubespray(s *Source) bool {
	has := func(names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(s.Groups, n) })
	}
	return has(masterGroups) && has(nodeGroups)
}

// wholeCluster adds the group k8s_cluster of all nodes where the inventory lacks it:
// Kubespray's playbooks create it, and group_vars/k8s_cluster belongs to it.
func (s *Source) wholeCluster() {
	if slices.Contains(s.Groups, "k8s_cluster") || slices.Contains(s.Groups, "k8s-cluster") {
		return
	}
	s.group("k8s_cluster", "")
	for _, g := range slices.Concat(masterGroups, nodeGroups) {
		if slices.Contains(s.Groups, g) && !slices.Contains(s.below(g), "k8s_cluster") {
			s.children["k8s_cluster"] = append(s.children["k8s_cluster"], g)
		}
	}
}

func isKubesprayGroup(name string) bool {
	return slices.Contains(slices.Concat(masterGroups, nodeGroups, restGroups), name)
}

// labels moves node_labels and node_taints of Kubespray to the keys labels and taints
// of a host or group.
func (c *converter) labels(vs vars, into *mapping) {
	if !c.kubespray {
		return
	}
	if v, ok := vs["node_labels"]; ok {
		if m, isMap := v.v.(map[string]any); isMap && !hasJinja(m) {
			labels := map[string]any{}
			for k, e := range m {
				labels[k] = pythonText(e)
			}
			into.set("labels", labels)
			delete(vs, "node_labels")
		}
	}
	if v, ok := vs["node_taints"]; ok {
		if list, isList := v.v.([]any); isList && !hasJinja(list) {
			into.set("taints", list)
			delete(vs, "node_taints")
		}
	}
}

// pythonText prints a value as a template of Ansible does.
func pythonText(v any) string {
	switch t := v.(type) {
	case nil:
		return "None"
	case bool:
		return map[bool]string{true: "True", false: "False"}[t]
	case float64:
		return floatText(t)
	}
	return fmt.Sprint(v)
}

// labelsOfRole notes labels and taints of a whole role, which has none here.
func (c *converter) labelsOfRole(group string, vs vars) {
	for _, name := range []string{"node_labels", "node_taints"} {
		if v, ok := vs[name]; ok {
			delete(vs, name)
			c.note(v.at, describe(name, v.v), "belongs to all hosts of "+group+": make a group of these hosts and give it labels or taints")
		}
	}
}

// roles maps the groups of Kubespray to roles.
func (c *converter) roles() *mapping {
	out := &mapping{}
	if !c.kubespray {
		return out
	}
	masters, minions, etcd := c.named(masterGroups), c.named(nodeGroups), c.named([]string{"etcd"})
	if slices.Equal(masters, etcd) {
		etcd = nil // the default
	}
	for _, r := range []struct {
		role  string
		hosts []any
	}{{"master", masters}, {"minion", minions}, {"etcd", etcd}} {
		if r.hosts != nil {
			out.set(r.role, r.hosts)
		}
	}
	if minions == nil {
		c.note("", "schedulable_masters", "no host is in kube_node, so that masters take pods here; Kubespray taints them")
	}
	c.noteRoles()
	c.reflectors(masters, minions)
	return out
}

// noteRoles notes the names of Kubespray's groups, which playbooks of one's own may use.
func (c *converter) noteRoles() {
	for _, names := range []struct {
		groups []string
		here   string
	}{
		{masterGroups, "is the role master here"},
		{nodeGroups, "is the role minion here"},
		{[]string{"etcd"}, "is the role etcd here, the masters unless it has other hosts"},
		{[]string{"k8s_cluster", "k8s-cluster"}, "is called node here: masters and minions"},
		{[]string{"calico_rr", "calico-rr"}, "is no group here: cluster.network.reflectors has its hosts"},
		{[]string{"bastion"}, "is no group here: ssh.bastion is its first host"},
	} {
		for _, g := range names.groups {
			if at := c.src.groupAt[g]; at != "" {
				c.note(at, "group "+g, names.here)
			}
		}
	}
}

// named lists the hosts of groups by their names in deployer.
func (c *converter) named(groups []string) []any {
	var out []any
	for _, g := range groups {
		for _, h := range c.src.in(g) {
			out = append(out, c.names[h])
		}
	}
	return out
}

// isJumpHost reports whether a host is in Kubespray's group bastion and in no other role,
// so that it is a way to the others and no host of its own.
func (c *converter) isJumpHost(host string) bool {
	if !c.kubespray || !slices.Contains(c.src.in("bastion"), host) {
		return false
	}
	return !slices.ContainsFunc(c.groupsOf[host], func(g string) bool { return g != "bastion" && isKubesprayGroup(g) })
}

// bastionGroup sets the first host of Kubespray's group bastion as the bastion of all hosts.
func (c *converter) bastionGroup(ssh *mapping) {
	if !c.kubespray {
		return
	}
	hosts := c.src.in("bastion")
	for i, h := range hosts {
		if i > 0 {
			c.note(c.src.hostAt[h], "host "+h+" in bastion", "is left out: Kubespray goes through the first host of the group only")
			continue
		}
		l := loginOf(c.src.variablesOf(h, c.groupsOf[h]))
		hop := map[string]any{"address": cmp.Or(l.address, h)}
		for _, key := range []string{"user", "port", "key"} {
			if v, ok := l.ssh[key]; ok {
				hop[key] = v
			}
		}
		ssh.set("bastion", []any{hop})
	}
	if len(hosts) > 0 && c.isJumpHost(hosts[0]) {
		vs := maps.Clone(c.src.hostVars[hosts[0]])
		c.connection(vs)
		c.free(vs)
	}
}
