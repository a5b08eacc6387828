package inventory

import (
	"slices"
	"strings"

	"deployer/strictyaml"
)

// members holds the hosts of a group, by index.
type members []bool

func (m members) add(other members) {
	for i, in := range other {
		m[i] = m[i] || in
	}
}

// addGroups computes the members of every group and the order of precedence.
func (b *builder) addGroups() {
	b.groups = map[string]members{}
	b.inv.Groups, b.inv.Children = map[string][]string{}, map[string][]string{}
	for _, e := range b.file.Groups {
		b.checkGroupName(e)
	}
	for _, e := range b.file.Groups {
		for _, child := range e.Value.Children {
			b.checkChild(e.Key, child)
		}
	}
	if !b.orderGroups() {
		return
	}
	for _, i := range b.order {
		b.inv.GroupNames = append(b.inv.GroupNames, b.file.Groups[i].Key)
	}
	for _, i := range slices.Backward(b.order) { // children before their parents
		e := b.file.Groups[i]
		m := b.hostsOf(e.Value.Hosts, "group "+e.Key, false)
		for _, child := range e.Value.Children {
			m.add(b.groups[child.text])
			b.inv.Children[e.Key] = append(b.inv.Children[e.Key], child.text)
		}
		b.groups[e.Key] = m
		b.inv.Groups[e.Key] = b.names(m)
	}
}

func (b *builder) checkGroupName(e strictyaml.Entry[groupSection]) {
	name := e.Key
	b.checkTaints(e.Pos, e.Value.Taints)
	other, isHost := b.inv.index[name]
	switch {
	case !groupShape.MatchString(name):
		b.errorf(e.Pos, "group name %q is not made of letters, digits, - and _, beginning with a letter", name)
	case name == "all" || name == "node" || slices.Contains(RoleNames(), name):
		b.errorf(e.Pos, "group name %q is reserved; roles are given under roles", name)
	case isHost:
		b.errorf(e.Pos, "group %s has the name of the host on line %d", name, b.inv.Hosts[other].Pos.Line)
	}
}

func (b *builder) checkChild(parent string, child nameRef) {
	if b.groupIndex(child.text) >= 0 {
		return
	}
	pos := b.at(child.pos)
	if _, ok := b.inv.index[child.text]; ok {
		b.errorf(pos, "child %q of group %s is a host; list it under hosts", child.text, parent)
		return
	}
	b.errorf(pos, "group %s: there is no group %q%s", parent, child.text, strictyaml.DidYouMean(child.text, b.file.Groups.Keys()))
}

func (b *builder) groupIndex(name string) int {
	return slices.IndexFunc(b.file.Groups, func(e strictyaml.Entry[groupSection]) bool { return e.Key == name })
}

// orderGroups sorts the groups by precedence: a parent before its children, otherwise in
// the order of the file. orderGroups reports cycles of groups.
func (b *builder) orderGroups() bool {
	n := len(b.file.Groups)
	children := make([][]int, n)
	parents := make([]int, n) // not yet placed
	for i, e := range b.file.Groups {
		for _, child := range e.Value.Children {
			if c := b.groupIndex(child.text); c >= 0 && !slices.Contains(children[i], c) {
				children[i] = append(children[i], c)
				parents[c]++
			}
		}
	}
	placed := make([]bool, n)
	for len(b.order) < n {
		next := -1
		for i := range n {
			if !placed[i] && parents[i] == 0 {
				next = i
				break
			}
		}
		if next < 0 {
			b.reportCycle(children, placed)
			return false
		}
		placed[next] = true
		b.order = append(b.order, next)
		for _, c := range children[next] {
			parents[c]--
		}
	}
	return true
}

// reportCycle reports one cycle of groups. Every group without a position has a parent
// without one, so following such parents leads to a group that was visited before.
func (b *builder) reportCycle(children [][]int, placed []bool) {
	parent := func(group int) int {
		for i, cs := range children {
			if !placed[i] && slices.Contains(cs, group) {
				return i
			}
		}
		return -1
	}
	var path []int
	at := slices.Index(placed, false)
	for ; at >= 0 && !slices.Contains(path, at); at = parent(at) {
		path = append(path, at)
	}
	path = append(path[max(0, slices.Index(path, at)):], at)
	slices.Reverse(path)
	names := make([]string, len(path))
	for i, p := range path {
		names[i] = b.file.Groups[p].Key
	}
	b.errorf(b.file.Groups[path[0]].Pos, "groups contain each other: %s", strings.Join(names, " -> "))
}

// names returns the names of hosts by index, in the order of the file.
func (b *builder) names(m members) []string {
	out := []string{}
	for i, in := range m {
		if in {
			out = append(out, b.inv.Hosts[i].Name)
		}
	}
	return out
}
