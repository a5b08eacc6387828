package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"deployer/engine/journal"
	"deployer/runs"
	"deployer/runs/history"
)

// confirmRecord shows where the record of a run of another machine was found, and prompts
// for what it adds to the inventory and the playbook.
func confirmRecord(e env, r *history.Entry, given runs.Options, yes bool) error {
	if !printRecord(e, "resuming", r, r.Claims(given.Extra)) {
		return nil
	}
	return requireYes(e, yes, "Continue the run with this?")
}

// confirmReverted does the same for the runs that a resumed revert takes back, whose records
// have variables of their own. Variables that the record of the revert has were confirmed.
func confirmReverted(e env, back journal.Header, parts []*runs.Revert, yes bool) error {
	claims := false
	for _, part := range parts {
		for _, r := range part.Entries() {
			claims = printRecord(e, "reverting", r, r.OriginalClaims(back.Invocation.Extra)) || claims
		}
	}
	if !claims {
		return nil
	}
	return requireYes(e, yes, "Revert these runs with this?")
}

// confirmPlan shows the plan that a resumed run applies when it comes from a host, and prompts
// for it as apply does.
func confirmPlan(e env, r *runs.Run, o runOptions, estimate estimator, yes bool) error {
	p := r.ClaimedPlan()
	if p == nil {
		return nil
	}
	if o.output == "json" {
		if err := json.NewEncoder(e.stdout).Encode(map[string]any{"plan": p}); err != nil {
			return err
		}
	} else {
		showPlan(e.stdout, r, p, o.verbose > 0, estimate)
	}
	return requireYes(e, yes, "Execute this plan, which comes from a host?")
}

// printRecord shows where the record of a run of another machine was found, and the claims
// about it. printRecord reports whether there are any. A run of this machine has none.
func printRecord(e env, doing string, r *history.Entry, claims []string) bool {
	if r.Here {
		return false
	}
	fmt.Fprintf(e.stderr, "%s run %s of %s, found: %s\n", doing, r.Header.Run, r.Header.By, strings.Join(r.Places(), ", "))
	if len(claims) == 0 {
		return false
	}
	fmt.Fprintf(e.stderr, "only the record of these hosts says:\n")
	for _, c := range claims {
		fmt.Fprintf(e.stderr, "  %s\n", c)
	}
	return true
}
