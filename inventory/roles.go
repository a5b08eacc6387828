package inventory

import (
	"slices"

	"deployer/limit"
	"deployer/strictyaml"
)

// addRoles computes the hosts of every role.
func (b *builder) addRoles() {
	lists := b.file.Roles.lists()
	b.inv.Roles = map[string][]string{}
	for _, role := range RoleNames() {
		m := b.hostsOf(lists[role], "role "+role, true)
		b.inv.Roles[role] = b.names(m)
		for i, in := range m {
			if in {
				b.inv.Hosts[i].Roles = append(b.inv.Hosts[i].Roles, role)
			}
		}
	}
}

// hostsOf returns the hosts in a list of names; withGroups allows groups in it.
func (b *builder) hostsOf(list nameList, what string, withGroups bool) members {
	out := make(members, len(b.inv.Hosts))
	for _, ref := range list {
		isGroup := b.groupIndex(ref.text) >= 0
		switch {
		case isGroup && withGroups:
			out.add(b.groups[ref.text])
			continue
		case isGroup:
			b.errorf(b.at(ref.pos), "%s: %q is a group; list it under children", what, ref.text)
			continue
		}
		names, err := Expand(ref.text)
		if err != nil {
			b.errorf(b.at(ref.pos), "%s: %v", what, err)
			continue
		}
		b.include(out, names, ref, what, withGroups)
	}
	return out
}

func (b *builder) include(out members, names []string, ref nameRef, what string, withGroups bool) {
	var unknown []string
	for _, name := range names {
		if i, ok := b.inv.index[name]; ok {
			out[i] = true
		} else {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return
	}
	known, noun := b.inv.Names(), "host"
	if withGroups {
		known, noun = append(known, b.file.Groups.Keys()...), "host or group"
	}
	b.errorf(b.at(ref.pos), "%s: there is no %s %s%s", what, noun, CompressText(unknown), strictyaml.DidYouMean(unknown[0], known))
}

// addLimits copies max_fail, whose keys must be known names.
func (b *builder) addLimits() {
	known := append(append(b.file.Groups.Keys(), RoleNames()...), "all", "node")
	b.inv.MaxFail = map[string]limit.Limit{}
	for _, e := range b.file.MaxFail {
		if !slices.Contains(known, e.Key) {
			b.errorf(e.Pos, "max_fail: there is no role or group %q%s", e.Key, strictyaml.DidYouMean(e.Key, known))
			continue
		}
		b.inv.MaxFail[e.Key] = e.Value
	}
}
