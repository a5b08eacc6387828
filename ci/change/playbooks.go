package change

import "slices"

// Playbook is a playbook of a revision that runs when a push changes the cluster.
type Playbook struct {
	File string // relative to the repository, as the configuration names it
	// Digest stands for the content of the files that the playbook may read; empty for a
	// playbook with errors.
	Digest string
	Hosts  []string // hosts that its plays name
	First  bool     // it runs before the cluster is changed, not after
}

// PlaybookRun is a playbook that runs because of a change.
type PlaybookRun struct {
	File  string `json:"file"`
	First bool   `json:"first,omitempty"` // it runs before the cluster is changed, not after
	// Differs is true when the playbook is new or its files differ, or when an interrupted
	// deploy has not run it; other playbooks run because something else has changed that they
	// may depend on, such as a variable or the list of hosts.
	Differs bool     `json:"differs,omitempty"`
	Hosts   []string `json:"hosts,omitempty"` // hosts that its plays name
}

// runs returns the playbooks of a revision that run: all of them when anything differs,
// otherwise none.
func (c Change) runs(after *Site, differs func(Playbook) bool) []PlaybookRun {
	var out []PlaybookRun
	for _, p := range after.Playbooks {
		out = append(out, PlaybookRun{File: p.File, First: p.First, Differs: differs(p), Hosts: p.Hosts})
	}
	if c.Nothing() && !slices.ContainsFunc(out, func(r PlaybookRun) bool { return r.Differs }) {
		return nil
	}
	return out
}

// differsFrom reports whether a revision does not have a playbook with the same content.
func (p Playbook) differsFrom(s *Site) bool {
	return s == nil || p.Digest == "" || !slices.ContainsFunc(s.Playbooks, func(o Playbook) bool { return o.File == p.File && o.Digest == p.Digest })
}

// addPlaybookSteps appends the runs that come before the cluster is changed, or after it.
func (c Change) addPlaybookSteps(steps []Step, first bool) []Step {
	for _, r := range c.Playbooks {
		if r.First == first {
			steps = append(steps, Step{Args: []string{VerbRun, r.File}})
		}
	}
	return steps
}

// playbooks returns the runs of playbooks in a change from the state that an
// interrupted deploy has left.
func (d Interrupted) playbooks(c Change, after *Site) []PlaybookRun {
	return c.runs(after, func(p Playbook) bool {
		for _, site := range []*Site{d.Verified, d.Before, d.Wanted} {
			if site != nil && p.differsFrom(site) {
				return true
			}
		}
		return slices.ContainsFunc(d.Steps[min(d.Done, len(d.Steps)):], func(s Step) bool { return slices.Equal(s.Args, []string{VerbRun, p.File}) })
	})
}
