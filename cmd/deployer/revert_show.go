package main

import (
	"fmt"
	"io"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/inventory"
	"deployer/runs"
)

// printFound shows what will be put back and what cannot be, hosts with the same
// things together.
func printFound(w io.Writer, back *runs.Revert, found *runs.RevertPreview, o revertOptions) {
	what := found.Changes()
	switch {
	case len(what.Changes) > 0:
		fmt.Fprintf(w, "what run %s changed will be put back:\n", back.ID)
		printChanges(w, what, o.diff || o.verbose > 0, o.verbose > 0)
	case found.HasWork():
		fmt.Fprintf(w, "what run %s changed is put back; what has to follow is still to be done\n", back.ID)
	case found.Incomplete() || len(found.Drifted()) > 0:
		fmt.Fprintf(w, "nothing more of run %s can be put back:\n", back.ID)
	default:
		fmt.Fprintf(w, "there is nothing to put back: what run %s changed is as it was before\n", back.ID)
	}
	printCannot(w, "changed since by others:", found.Drifted())
	printCannot(w, "cannot be undone:", found.Irreversible)
	for _, text := range found.LeftOut {
		fmt.Fprintf(w, "not waited for: %s\n", text)
	}
	if back.ResumedFrom != "" {
		fmt.Fprintf(w, "\nrun %s went on from run %s; what that one had changed stays, until:\n  deployer revert %s\n", back.ID, back.ResumedFrom, back.ResumedFrom)
	}
}

func printCannot(w io.Writer, title string, list []runs.Irreversible) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, c := range list {
		fmt.Fprintf(w, "  %s: %s\n", inventory.CompressText(c.Hosts), c.What)
	}
}

// foundJSON is the same for programs.
func foundJSON(found *runs.RevertPreview) any {
	return struct {
		Hosts   map[string]engine.RunHistory `json:"hosts"`
		Drifted []runs.Irreversible          `json:"drifted"`
		Cannot  []runs.Irreversible          `json:"cannot"`
		LeftOut []string                     `json:"left_out"`
	}{found.Past, orEmpty(found.Drifted()), orEmpty(found.Irreversible), orEmpty(found.LeftOut)}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// printLeft says what the summary of a run does not.
func printLeft(w io.Writer, call journal.Invocation, left []runs.Irreversible, report *engine.Report) {
	printCannot(w, "could not be put back:", left)
	if report.Outcome() == engine.OutcomeDone && (call.Verb == "install" || call.Verb == "run") {
		fmt.Fprintf(w, "\nthe inventory and the playbook still say what the run did: change them, or the next run does it again\n")
	}
}
