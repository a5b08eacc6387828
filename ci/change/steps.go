package change

import (
	"slices"
	"strings"

	"deployer/inventory"
)

// The verbs of steps.
const (
	VerbApply     = "apply"
	VerbRun       = "run"
	VerbUpgrade   = "upgrade"
	VerbRollback  = "rollback"
	VerbScaleUp   = "scale-up"
	VerbScaleDown = "scale-down"
)

// Step is one verb of deployer that carries out a part of a change.
type Step struct {
	// Args are the verb, its flags and its hosts, without the inventory.
	Args []string
	// Old is true when the step reads the inventory of the old revision, because the new one
	// does not name the hosts that leave.
	Old bool
}

// Verb returns the verb; empty for a step without one, as a stored state may have it.
func (s Step) Verb() string {
	if len(s.Args) == 0 {
		return ""
	}
	return s.Args[0]
}

// String returns the command line without the inventory.
func (s Step) String() string { return "deployer " + strings.Join(s.Args, " ") }

// MarshalText returns the command line: reports show a step as a person would type it.
func (s Step) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Steps returns the verbs that carry out a change, in order: hosts leave with the
// inventory that still has them, then others join, then versions change, then the
// rest is changed to the new inventory. A first revision is installed. Playbooks run
// before hosts join and versions change, or at the end. The result is empty for no
// difference, and for a cluster that was removed, which is never reset by a push.
//
// Changes that gate.Check refuses for being mixed have steps too, which must not be run.
func (c Change) Steps() []Step {
	var out []Step
	switch {
	case c.First:
		out = append(c.addPlaybookSteps(nil, true), Step{Args: []string{VerbApply, "--yes"}})
		return c.addPlaybookSteps(out, false)
	case c.Removed:
		return nil
	}
	add := func(hosts []HostRoles, old bool, verb ...string) {
		if len(hosts) == 0 {
			return
		}
		args := append(slices.Clone(verb), "--yes")
		if slices.ContainsFunc(hosts, func(h HostRoles) bool { return slices.Contains(h.Roles, inventory.Master) }) {
			args = append(args, "--allow-masters")
		}
		out = append(out, Step{Args: append(args, names(hosts)...), Old: old})
	}
	add(c.Demoted, true, VerbScaleDown, "--keep-node")
	add(c.Leaving, true, VerbScaleDown)
	out = c.addPlaybookSteps(out, true)
	if len(c.Joining) > 0 {
		out = append(out, Step{Args: append([]string{VerbScaleUp}, names(c.Joining)...)})
	}
	switch {
	case slices.ContainsFunc(c.Versions, Version.Lower):
		out = append(out, Step{Args: []string{VerbRollback, "--yes"}, Old: true})
	case len(c.Versions) > 0:
		out = append(out, Step{Args: []string{VerbUpgrade}})
	}
	if c.Is(KindConfiguration) {
		out = append(out, Step{Args: []string{VerbApply, "--yes"}})
	}
	return c.addPlaybookSteps(out, false)
}

func names(hosts []HostRoles) []string {
	out := make([]string, len(hosts))
	for i, h := range hosts {
		out[i] = h.Host
	}
	return out
}

// Touched returns the hosts of either revision on which a change does something by intent,
// in the order of the old revision, then of the new one. A setting of the cluster and a version touch
// all hosts, a playbook that differs touches the hosts of its plays. Hosts whose configuration follows from the hosts that join or leave, such as the
// peers of a member of etcd, are not counted.
func (c Change) Touched(before, after *Site) []string {
	all := len(c.Versions)+len(c.Settings) > 0 || c.First || c.Removed || c.Renamed
	named := map[string]bool{}
	for _, list := range [][]HostRoles{c.Joining, c.Leaving, c.Demoted, c.Unsupported, c.Readdressed} {
		for _, h := range list {
			named[h.Host] = true
		}
	}
	for _, s := range c.HostSettings {
		named[s.Host] = true
	}
	for _, r := range c.Playbooks {
		for _, host := range r.Hosts {
			named[host] = named[host] || r.Differs
		}
	}
	var out []string
	for _, site := range []*Site{before, after} {
		if site == nil {
			continue
		}
		for _, h := range site.Hosts {
			if (all || named[h.Name]) && !slices.Contains(out, h.Name) {
				out = append(out, h.Name)
			}
		}
	}
	return out
}
