package main

import (
	"fmt"
	"io"
	"strings"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/inventory"
	"deployer/operations"
	"deployer/runs"
)

// printPreview prints what the revert will restore and what is irreversible, one entry
// for all hosts with the same changes.
func printPreview(w io.Writer, back *runs.Revert, preview *runs.RevertPreview, o runOptions) {
	what := preview.Changes()
	switch {
	case len(what.Changes) > 0:
		fmt.Fprintf(w, "changes of run %s to be reverted:\n", back.ID)
		printChanges(w, what, o.diff || o.verbose > 0, o.verbose > 0)
	case preview.HasWork():
		fmt.Fprintf(w, "the changes of run %s are reverted; its handlers and gates are left to do\n", back.ID)
	case preview.Incomplete() || len(preview.Drifted()) > 0:
		fmt.Fprintf(w, "nothing more of run %s can be restored:\n", back.ID)
	default:
		fmt.Fprintf(w, "nothing to revert: everything that run %s changed is in its earlier state\n", back.ID)
	}
	printIrreversible(w, "changed since the run:", preview.Drifted())
	printIrreversible(w, "irreversible:", preview.Irreversible)
	for _, text := range preview.LeftOut {
		fmt.Fprintf(w, "skipped gate or handler: %s\n", text)
	}
	if back.ResumedFrom != "" {
		verb := "revert"
		if back.Invocation.Verb == journal.VerbUpgrade {
			verb = "rollback"
		}
		fmt.Fprintf(w, "\nrun %s resumed run %s, whose changes stay; to revert them:\n  deployer %s %s\n", back.ID, back.ResumedFrom, verb, back.ResumedFrom)
	}
}

// showRevert prints a result of a revert or a rollback.
func (c *console) showRevert(result operations.Result) {
	switch r := result.(type) {
	case operations.RollingBack:
		fmt.Fprintf(c.stderr, "the upgrade has failed; rolling run %s back\n", r.Run)
	case operations.LoweredVersions:
		for _, text := range r {
			fmt.Fprintf(c.stdout, "irreversible: %s\n", text)
		}
	case operations.RollbackOf:
		fmt.Fprintf(c.stdout, "the upgrade has %d runs, which are rolled back one after the other: %s\n\n", len(r), strings.Join(r, ", "))
	case operations.RevertedRecord:
		printRecord(c.env, "reverting", r.Entry, r.Claims)
	case operations.RevertPreview:
		printPreview(c.stdout, r.Revert, r.Preview, c.runOptions)
	case operations.Unrestored:
		printUnrestored(c.stdout, r.Of, r.Left, r.Report)
	case operations.RolledBack:
		printRolledBack(c.env, r.Inventory, r.To)
	}
}

func printIrreversible(w io.Writer, title string, list []runs.Irreversible) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", title)
	for _, c := range list {
		fmt.Fprintf(w, "  %s: %s\n", inventory.CompressText(c.Hosts), c.Description)
	}
}

// previewJSON returns the preview as JSON.
func previewJSON(preview *runs.RevertPreview) any {
	return struct {
		Hosts        map[string]engine.RunHistory `json:"hosts"`
		Drifted      []runs.Irreversible          `json:"drifted"`
		Irreversible []runs.Irreversible          `json:"irreversible"`
		LeftOut      []string                     `json:"left_out"`
	}{preview.History, orEmpty(preview.Drifted()), orEmpty(preview.Irreversible), orEmpty(preview.LeftOut)}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// printUnrestored prints the resources that could not be restored, and reminds the user
// of the inventory and playbook.
func printUnrestored(w io.Writer, call journal.Invocation, left []runs.Irreversible, report *engine.Report) {
	printIrreversible(w, "could not be restored:", left)
	if report.Outcome() == engine.OutcomeDone && (call.Verb == journal.VerbInstall || call.Verb == journal.VerbRun) {
		fmt.Fprintf(w, "\nthe inventory and the playbook still describe the reverted changes: edit them, or the next run applies them again\n")
	}
}
