package change

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"deployer/inventory"
	"deployer/strictyaml"
)

// Change is the difference between two revisions of a cluster.
type Change struct {
	First   bool `json:"first,omitempty"`   // the old revision has no such cluster
	Removed bool `json:"removed,omitempty"` // the new revision has no such cluster
	// Renamed is true when the clusters have different names.
	Renamed bool `json:"renamed,omitempty"`

	Joining []HostRoles `json:"joining,omitempty"` // new hosts, and hosts with a new role
	Leaving []HostRoles `json:"leaving,omitempty"` // hosts that the new revision does not have
	Demoted []HostRoles `json:"demoted,omitempty"` // masters that become minions
	// Unsupported are hosts that lose a role other than master and stay in the cluster.
	Unsupported []HostRoles `json:"unsupported,omitempty"`
	Readdressed []HostRoles `json:"readdressed,omitempty"` // hosts with another address
	// Stranded are hosts that an interrupted deploy may have left in the cluster, that the new
	// revision does not name, and that no step takes out; see Interrupted.
	Stranded []HostRoles `json:"stranded,omitempty"`

	Versions []Version `json:"versions,omitempty"`
	// Settings are the keys of the cluster that differ; HostSettings are the keys of hosts that
	// are in both revisions.
	Settings     []SettingChange `json:"settings,omitempty"`
	HostSettings []SettingChange `json:"host_settings,omitempty"`
	Playbooks    []PlaybookRun   `json:"playbooks,omitempty"` // playbooks that run
}

// HostRoles is a host with the roles that it gets or loses.
type HostRoles struct {
	Host  string         `json:"host"`
	Roles []string       `json:"roles"`
	Pos   strictyaml.Pos `json:"pos"`
}

// Version is the change of the version of a component. From or To is empty when the
// revision has no such component.
type Version struct {
	Component string         `json:"component"`
	From      string         `json:"from"`
	To        string         `json:"to"`
	Pos       strictyaml.Pos `json:"pos"`
}

// Lower reports whether the new version is the older one.
func (v Version) Lower() bool {
	from, err := semver.NewVersion(v.From)
	if err != nil {
		return false
	}
	to, err := semver.NewVersion(v.To)
	return err == nil && to.LessThan(from)
}

// SettingChange is a key of a host or of the cluster whose value differs.
type SettingChange struct {
	Host string         `json:"host,omitempty"`
	Key  string         `json:"key"`
	Pos  strictyaml.Pos `json:"pos"` // in the new revision, or in the old one for a removed key
}

// Kind classifies a change.
type Kind string

// The kinds of a change.
const (
	KindNothing       Kind = "nothing"
	KindInstall       Kind = "new cluster"
	KindRemoved       Kind = "removed cluster"
	KindNewHosts      Kind = "new hosts"
	KindRemovedHosts  Kind = "removed hosts"
	KindVersion       Kind = "version change"
	KindConfiguration Kind = "configuration"
	KindPlaybooks     Kind = "playbooks"
)

// Kinds returns the kinds of a change in the order in which it is carried out, and
// KindNothing alone when the revisions do not differ.
func (c Change) Kinds() []Kind {
	var out []Kind
	add := func(is bool, k Kind) {
		if is {
			out = append(out, k)
		}
	}
	add(c.First, KindInstall)
	add(c.Removed, KindRemoved)
	add(len(c.Leaving)+len(c.Demoted)+len(c.Unsupported) > 0, KindRemovedHosts)
	add(len(c.Joining) > 0, KindNewHosts)
	add(len(c.Versions) > 0, KindVersion)
	add(c.Renamed || len(c.Settings)+len(c.HostSettings) > 0, KindConfiguration)
	add(slices.ContainsFunc(c.Playbooks, func(r PlaybookRun) bool { return r.Differs }), KindPlaybooks)
	if out == nil {
		out = []Kind{KindNothing}
	}
	return out
}

// MarshalJSON adds the kinds to the fields, so that readers of a report need not know the
// rules of Kinds.
func (c Change) MarshalJSON() ([]byte, error) {
	type fields Change
	return json.Marshal(struct {
		Kinds []Kind `json:"kinds"`
		fields
	}{c.Kinds(), fields(c)})
}

// Is reports whether a change has a kind.
func (c Change) Is(k Kind) bool { return slices.Contains(c.Kinds(), k) }

// Nothing reports whether there is no difference.
func (c Change) Nothing() bool { return c.Is(KindNothing) }

// Between returns the difference between two revisions; nil is a revision without the
// cluster.
func Between(before, after *Site) Change {
	switch {
	case before == nil && after == nil:
		return Change{}
	case before == nil:
		c := Change{First: true}
		c.Playbooks = c.runs(after, func(Playbook) bool { return true })
		return c
	case after == nil:
		return Change{Removed: true}
	}
	c := Change{Renamed: before.Cluster != after.Cluster}
	c.compareHosts(before, after)
	c.Versions = compareVersions(before, after)
	c.Settings = compareSettings("", before.Settings, after.Settings)
	c.Playbooks = c.runs(after, func(p Playbook) bool { return p.differsFrom(before) })
	return c
}

func (c *Change) compareHosts(before, after *Site) {
	for _, h := range after.Hosts {
		old, known := before.Host(h.Name)
		if gained := without(h.Roles, old.Roles); len(gained) > 0 && !(known && old.Has(inventory.Master) && only(gained, inventory.Minion)) {
			c.Joining = append(c.Joining, HostRoles{h.Name, gained, h.Pos})
		}
		if !known {
			continue
		}
		switch lost := without(old.Roles, h.Roles); {
		case len(lost) == 0 || only(lost, inventory.Minion) && h.Has(inventory.Master): // a minion becomes a master: it joins
		case slices.Contains(lost, inventory.Master) && h.Has(inventory.Minion) && only(without(lost, []string{inventory.Etcd}), inventory.Master):
			c.Demoted = append(c.Demoted, HostRoles{h.Name, lost, h.Pos})
		default:
			c.Unsupported = append(c.Unsupported, HostRoles{h.Name, lost, h.Pos})
		}
		if old.Address != h.Address {
			c.Readdressed = append(c.Readdressed, HostRoles{h.Name, h.Roles, h.Pos})
		}
		c.HostSettings = append(c.HostSettings, compareSettings(h.Name, old.Settings, h.Settings)...)
	}
	for _, h := range before.Hosts {
		if _, stays := after.Host(h.Name); !stays {
			c.Leaving = append(c.Leaving, HostRoles{h.Name, h.Roles, h.Pos})
		}
	}
}

// without returns the members of a list that another one does not have.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(x string) bool { return slices.Contains(other, x) })
}

func only(list []string, x string) bool { return len(list) == 1 && list[0] == x }

func compareVersions(before, after *Site) []Version {
	names := slices.Collect(maps.Keys(before.Versions))
	for name := range after.Versions {
		if _, known := before.Versions[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []Version
	for _, name := range names {
		// A host that is in one revision only changes no version.
		component, host, own := strings.Cut(name, " of ")
		if _, was := before.Host(host); own && !was {
			continue
		}
		if _, is := after.Host(host); own && !is {
			continue
		}
		v := Version{name, before.Versions[name], after.Versions[name], after.Version}
		if own && v.From == "" {
			v.From = before.Versions[clusterVersion[component]]
		}
		if own && v.To == "" {
			v.To = after.Versions[clusterVersion[component]]
		}
		if v.From != v.To {
			out = append(out, v)
		}
	}
	return out
}

func compareSettings(host string, before, after []Setting) []SettingChange {
	old := make(map[string]Setting, len(before))
	for _, s := range before {
		old[s.Key] = s
	}
	var out []SettingChange
	for _, s := range after {
		if was, known := old[s.Key]; !known || was.Digest != s.Digest {
			out = append(out, SettingChange{host, s.Key, s.Pos})
		}
		delete(old, s.Key)
	}
	for _, s := range before {
		if _, left := old[s.Key]; left {
			out = append(out, SettingChange{host, s.Key, s.Pos})
		}
	}
	return out
}
