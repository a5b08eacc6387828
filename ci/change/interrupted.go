package change

import (
	"slices"
	"strings"

	"deployer/inventory"
)

// Interrupted is a deploy that did not complete.
type Interrupted struct {
	// Before is the revision that the deploy started from, nil for a new cluster; Wanted is
	// the one that it leads to. Verified is the last verified revision, nil for none.
	Verified, Before, Wanted *Site
	// Steps are the steps of the deploy; Begun of them were started, and Done have succeeded.
	Steps       []Step
	Begun, Done int
}

// Complete reports whether all steps have succeeded, so that the cluster equals
// Wanted.
func (d Interrupted) Complete() bool { return d.Done >= len(d.Steps) }

// ParseStep reads a command line that Step.String has written. Old is not part of it.
func ParseStep(line string) Step {
	words := strings.Fields(line)
	return Step{Args: words[min(1, len(words)):]}
}

// Hosts returns the hosts that a step of scale-up or scale-down names; nil for other verbs.
func (s Step) Hosts() []string {
	if verb := s.Verb(); verb != VerbScaleUp && verb != VerbScaleDown {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Args[1:]), func(word string) bool { return strings.HasPrefix(word, "-") })
}

// stepOf returns the last begun step that names a host, or the first one that does and was
// not begun; false for none.
func (d Interrupted) stepOf(host string) (int, bool) {
	found, ok := 0, false
	for i, s := range d.Steps {
		if slices.Contains(s.Hosts(), host) && (i < d.Begun || !ok) {
			found, ok = i, true
		}
	}
	return found, ok
}

// Present returns the hosts that the cluster may have, with the roles that they may have,
// and the names of hosts whose step has begun and not succeeded.
func (d Interrupted) Present() (site *Site, tentative map[string]bool) {
	out := *d.Wanted
	out.Hosts, tentative = nil, map[string]bool{}
	if d.Before != nil {
		for _, h := range d.Before.Hosts {
			i, named := d.stepOf(h.Name)
			wanted, stays := d.Wanted.Host(h.Name)
			switch {
			case !named || i >= d.Begun:
				out.Hosts = append(out.Hosts, h)
				// A deploy repeats the join of a host that an earlier one has left unfinished.
				tentative[h.Name] = named && d.Steps[i].Verb() == VerbScaleUp && len(without(wanted.Roles, h.Roles)) == 0
			case !stays && i < d.Done: // it has left
			case !stays:
				out.Hosts, tentative[h.Name] = append(out.Hosts, h), true
			default:
				out.Hosts, tentative[h.Name] = append(out.Hosts, wanted), i >= d.Done
			}
		}
	}
	for _, h := range d.Wanted.Hosts {
		if _, known := d.Before.Host(h.Name); known {
			continue
		}
		if i, named := d.stepOf(h.Name); named && i < d.Begun || d.Before == nil && d.Begun > 0 {
			out.Hosts, tentative[h.Name] = append(out.Hosts, h), !named || i >= d.Done
		}
	}
	return &out, tentative
}

// ChangeTo returns the change from the state that the deploy has left to another
// revision. Hosts that may have joined leave unless the revision names them, hosts
// whose step did not succeed get it again, and keys that differ from any revision
// that the cluster may have are changed.
func (d Interrupted) ChangeTo(after *Site) Change {
	switch {
	case after == nil:
		return Between(d.Wanted, nil)
	case d.Complete():
		return Between(d.Wanted, after)
	}
	present, tentative := d.Present()
	if d.Before == nil {
		c := Change{First: true}
		for _, h := range present.Hosts {
			if _, stays := after.Host(h.Name); !stays {
				c.Stranded = append(c.Stranded, HostRoles{h.Name, h.Roles, h.Pos})
			}
		}
		c.Playbooks = c.runs(after, func(Playbook) bool { return true })
		return c
	}
	c := Change{Renamed: d.Wanted.Cluster != after.Cluster}
	c.compareHosts(present, after)
	c.HostSettings = nil
	d.repeat(&c, after, tentative)
	for _, site := range []*Site{d.Verified, d.Before, d.Wanted} {
		if site != nil {
			c.addSettings(site, after)
		}
	}
	c.Versions = d.versions(after)
	if len(c.Leaving)+len(c.Demoted) > 0 && d.OldSite(c) == nil {
		c.Stranded = append(slices.Clone(c.Leaving), c.Demoted...)
	}
	c.Playbooks = d.playbooks(c, after)
	return c
}

// repeat adds the hosts whose step has not succeeded and that have the wanted roles.
func (d Interrupted) repeat(c *Change, after *Site, tentative map[string]bool) {
	named := map[string]bool{}
	for _, list := range [][]HostRoles{c.Joining, c.Leaving, c.Demoted, c.Unsupported} {
		for _, h := range list {
			named[h.Host] = true
		}
	}
	for _, h := range after.Hosts {
		if !tentative[h.Name] || named[h.Name] {
			continue
		}
		was, _ := d.Before.Host(h.Name)
		if lost := without(was.Roles, h.Roles); slices.Contains(lost, inventory.Master) {
			c.Demoted = append(c.Demoted, HostRoles{h.Name, lost, h.Pos})
		} else {
			c.Joining = append(c.Joining, HostRoles{h.Name, h.Roles, h.Pos})
		}
	}
}

// addSettings adds the keys that differ. Keys of joining hosts are left out.
func (c *Change) addSettings(before, after *Site) {
	add := func(to *[]SettingChange, found []SettingChange) {
		for _, s := range found {
			if !slices.ContainsFunc(*to, func(o SettingChange) bool { return o.Host == s.Host && o.Key == s.Key }) {
				*to = append(*to, s)
			}
		}
	}
	add(&c.Settings, compareSettings("", before.Settings, after.Settings))
	for _, h := range after.Hosts {
		joins := slices.ContainsFunc(c.Joining, func(j HostRoles) bool { return j.Host == h.Name })
		if old, known := before.Host(h.Name); known && !joins {
			add(&c.HostSettings, compareSettings(h.Name, old.Settings, h.Settings))
		}
	}
}

// versions returns the differences between the versions of the cluster and of a revision. An
// upgrade that has begun leads away from the versions of Before; it is repeated when it is
// still wanted.
func (d Interrupted) versions(after *Site) []Version {
	i := slices.IndexFunc(d.Steps, func(s Step) bool { return s.Verb() == VerbUpgrade || s.Verb() == VerbRollback })
	if i < 0 || i >= d.Begun {
		return compareVersions(d.Before, after)
	}
	if out := compareVersions(d.Wanted, after); len(out) > 0 || i < d.Done {
		return out
	}
	return compareVersions(d.Before, after)
}

// OldSite returns the revision whose inventory the steps of a change read that take hosts
// out: Before or Wanted, whichever names all these hosts with their roles; nil for neither.
func (d Interrupted) OldSite(c Change) *Site {
	sites := []*Site{d.Before, d.Wanted}
	if d.Complete() || slices.ContainsFunc(d.Steps[:min(d.Begun, len(d.Steps))], func(s Step) bool { return s.Verb() == VerbScaleUp }) {
		sites = []*Site{d.Wanted, d.Before}
	}
	leaving := append(slices.Clone(c.Leaving), c.Demoted...)
	for _, site := range sites {
		if site != nil && !slices.ContainsFunc(leaving, func(l HostRoles) bool {
			h, known := site.Host(l.Host)
			return !known || len(without(l.Roles, h.Roles)) > 0
		}) {
			return site
		}
	}
	return nil
}
