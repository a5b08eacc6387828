package jinja

import (
	"regexp"
	"slices"
)

// ownGroups are the groups that deployer itself makes of the roles of hosts.
var ownGroups = []string{"node", "master", "minion", "etcd", "proxy"}

var (
	groupName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	notInGroups = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// GroupNote describes how a group of an inventory is called after its import, when that is
// not its name; otherwise it is empty.
func GroupNote(name string) string {
	switch {
	case slices.Contains(ownGroups, name):
		return "group " + name + ": here these are the hosts with a role of Kubernetes; `deployer inventory import` calls a group of yours group_" + name
	case !groupName.MatchString(name):
		return "group " + name + ": `deployer inventory import` calls it group_" + notInGroups.ReplaceAllString(name, "_")
	}
	return ""
}

// groupNote returns the note for an expression that names a group: groups.NAME or
// 'NAME' in group_names.
func groupNote(n node) string {
	switch t := n.(type) {
	case field:
		if key, ok := t.key.(text); ok && t.of == name("groups") {
			return GroupNote(string(key))
		}
	case binary:
		if key, ok := bare(t.a).(text); ok && t.op == "in" && (bare(t.b) == name("group_names") || bare(t.b) == name("groups")) {
			return GroupNote(string(key))
		}
	}
	return ""
}
