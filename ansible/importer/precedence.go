package importer

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
)

// order lists the groups but all by rising precedence, as Ansible sorts them: by depth,
// by ansible_group_priority, by name. The depth is the longest way from all, so that a
// parent stands before its children.
func (s *Source) order() []string {
	depth := map[string]int{}
	var measure func(group string, d int)
	measure = func(group string, d int) {
		if d <= depth[group] {
			return
		}
		depth[group] = d
		for _, c := range s.children[group] {
			measure(c, d+1)
		}
	}
	out := append([]string{"ungrouped"}, s.Groups...)
	for _, g := range out {
		measure(g, 1)
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(depth[a], depth[b]), cmp.Compare(s.priorityOf(a), s.priorityOf(b)), cmp.Compare(a, b))
	})
	return out
}

func (s *Source) priorityOf(group string) int {
	if p, ok := s.priority[group]; ok {
		return p
	}
	return 1
}

// fillUngrouped makes ungrouped the group of the hosts that are in no other.
func (s *Source) fillUngrouped() {
	grouped := map[string]bool{}
	for _, g := range s.Groups {
		for _, h := range s.members[g] {
			grouped[h] = true
		}
	}
	s.members["ungrouped"] = slices.DeleteFunc(slices.Clone(s.Hosts), func(h string) bool { return grouped[h] })
}

// groupsByHost returns the groups of each host, in the given order.
func (s *Source) groupsByHost(order []string) map[string][]string {
	out := map[string][]string{}
	for _, g := range order {
		for _, h := range s.in(g) {
			out[h] = append(out[h], g)
		}
	}
	return out
}

// settle merges the variables of files with those of the inventory, so that the layers
// all, groups in their order, host give each host the value that Ansible gives it.
//
// Ansible's own layers are finer: group_vars/all wins over the variables that the
// inventory gives to any group, and group_vars of any group wins over those of the
// inventory of any other. Where one layer for each group cannot express that, the host
// gets the value itself.
func (s *Source) settle() {
	order := s.order()
	groups := s.groupsByHost(order)
	right := map[string]vars{}
	for _, h := range s.Hosts {
		right[h] = s.variablesOf(h, groups[h])
	}
	s.dropOverridden(order)
	for name, vs := range s.groupFiles {
		maps.Copy(s.groupVars[name], vs)
	}
	for name, vs := range s.hostFiles {
		maps.Copy(s.hostVars[name], vs)
	}
	s.groupFiles, s.hostFiles = map[string]vars{}, map[string]vars{}
	for _, h := range s.Hosts {
		here := s.variablesOf(h, groups[h])
		for name, v := range right[h] {
			if !reflect.DeepEqual(here[name].v, v.v) {
				s.hostVars[h][name] = v
			}
		}
	}
}

// variablesOf resolves the variables of a host in the given groups, as Ansible does.
func (s *Source) variablesOf(host string, groups []string) vars {
	out := maps.Clone(s.groupVars["all"])
	for _, g := range groups {
		maps.Copy(out, s.groupVars[g])
	}
	maps.Copy(out, s.groupFiles["all"])
	for _, g := range groups {
		maps.Copy(out, s.groupFiles[g])
	}
	maps.Copy(out, s.hostVars[host])
	maps.Copy(out, s.hostFiles[host])
	return out
}

// dropOverridden removes the variables of groups that group_vars/all always overrides.
func (s *Source) dropOverridden(order []string) {
	for _, g := range order {
		for _, name := range s.groupVars[g].names() {
			over, ok := s.groupFiles["all"][name]
			if _, own := s.groupFiles[g][name]; !ok || own {
				continue
			}
			if v := s.groupVars[g][name]; !reflect.DeepEqual(v.v, over.v) {
				s.note(v.at, name, "has no effect, in Ansible either: "+over.at+" wins over the variables of groups in an inventory file")
			}
			delete(s.groupVars[g], name)
		}
	}
}
