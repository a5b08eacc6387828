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
	// PlanFile is a copy of the plan that the run applies, from a host; empty for none. Its
	// content is a claim of the host, even when the log is that of this machine.
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
