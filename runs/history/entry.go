package history

import (
	"fmt"
	"slices"
	"strings"

	"deployer/engine/journal"
	"deployer/engine/lock"
)

// Entry is a run with the places of its log.
type Entry struct {
	*journal.Record
	// Path is the log, in the form of a journal.
	Path string
	// Here is true when the log is that of this machine.
	Here bool
	// Keepers are the hosts that have a record of the run, in the order in which they were
	// asked.
	Keepers []string
	// Holder is the holder of the run lock of a host when it is this run, which is then in
	// progress; else nil.
	Holder *lock.Holder
	// PlanFile is a copy of the plan that the run applies, from a host; empty for none.
	PlanFile string
	// Brief is true when only the header and the outcome were read from hosts.
	Brief bool
	// Conflict is set when hosts have records of the run that contradict each other.
	Conflict error
}

// Places returns where the log was found: "here" and names of hosts.
func (e *Entry) Places() []string {
	var out []string
	if e.Here {
		out = append(out, "here")
	}
	return append(out, e.Keepers...)
}

// Claims lists what the record of a host adds to inventory and playbook, in words for a
// person who confirms them: variables of the command line that are not given again with
// the same value, verbs that no playbook of the user has, and flags that accept more. A
// variable of deployer's own playbooks that is false is a flag that was not given.
func Claims(h journal.Header, given map[string]any) []string {
	c := h.Invocation
	var out []string
	switch c.Verb {
	case "install", "run":
	case "revert":
		out = append(out, "it reverts run "+c.Reverts)
	default:
		text := "it is deployer " + c.Verb
		for _, group := range []struct {
			name  string
			hosts []string
		}{{"joining", c.Joining}, {"leaving", c.Leaving}, {"dead", c.Dead}} {
			if len(group.hosts) > 0 {
				text += fmt.Sprintf(", %s: %s", group.name, strings.Join(group.hosts, ", "))
			}
		}
		if c.KeepNodes {
			text += ", which stay as minions"
		}
		out = append(out, text)
	}
	names := make([]string, 0, len(c.Extra))
	for name := range c.Extra {
		if c.Playbook == "" && c.Extra[name] == false {
			continue
		}
		if again, ok := given[name]; !ok || fmt.Sprint(again) != fmt.Sprint(c.Extra[name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		out = append(out, fmt.Sprintf("-e %s=%v", name, c.Extra[name]))
	}
	if c.Kubernetes != "" {
		out = append(out, "--to "+c.Kubernetes)
	}
	if c.Force {
		out = append(out, "--force")
	}
	if c.LowerMinor {
		out = append(out, "--lower-minor")
	}
	if c.AllowChangedPlaybook {
		out = append(out, "--allow-changed-playbook")
	}
	return out
}

// Follow returns a run and those to which next leads from one to the next, as far as all
// has them. A run occurs once, whatever the logs say.
func Follow(all []*Entry, run string, next func(journal.Header) string) []string {
	var out []string
	for run != "" && !slices.Contains(out, run) {
		out = append(out, run)
		i := slices.IndexFunc(all, func(e *Entry) bool { return e.Header.Run == run })
		if i < 0 {
			break
		}
		run = next(all[i].Header)
	}
	return out
}

// Origin returns where and how a run was started, for messages.
func Origin(e *Entry) string {
	text := fmt.Sprintf("run %s was deployer %s", e.Header.Run, e.Header.Invocation.Verb)
	if e.Header.Invocation.Playbook != "" {
		text += " " + e.Header.Invocation.Playbook
	}
	return text + fmt.Sprintf(" by %s (found: %s)", e.Header.By, strings.Join(e.Places(), ", "))
}
