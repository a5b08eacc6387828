package main

import (
	"fmt"
	"strings"

	"deployer/ci/repository"
)

// stateLines returns all that a state says, for a person who signs it: each field decides what the
// next runs execute. describe returns a commit in words. The state may be anybody's.
func stateLines(s repository.ClusterState, describe func(commit string) string) []string {
	var out []string
	for i, commit := range s.Verified {
		out = append(out, []string{"verified: ", "verified before: "}[min(i, 1)]+describe(commit))
	}
	if s.Unchanged != "" {
		out = append(out, "its gates hold, and it changed nothing: "+describe(s.Unchanged))
	}
	if s.Deploying != nil {
		out = append(out, deployLines(s.Deploying, describe)...)
	}
	if s.Approved != "" {
		out = append(out, fmt.Sprintf("approved: %q", s.Approved))
	}
	return out
}

// deployLines returns all that the state says about a deploy that has not ended.
func deployLines(d *repository.Deploying, describe func(commit string) string) []string {
	word := "deploying"
	if d.Rollback {
		word = "rolling back"
	}
	out := []string{
		word + ": from " + describe(d.From),
		"           to " + describe(d.To),
		fmt.Sprintf("           %d of %d steps are done, %d were started", d.Done, len(d.Steps), d.Begun),
	}
	for _, step := range d.Steps {
		out = append(out, fmt.Sprintf("           %q", step))
	}
	if d.Deployed {
		out = append(out, "           only verify is left")
	}
	if len(d.Runs) > 0 {
		out = append(out, "           runs of the step: "+quotedList(d.Runs))
	}
	if len(d.Upgrade) > 0 {
		out = append(out, "           upgrade that it reverts: "+quotedList(d.Upgrade))
	}
	if d.After != nil {
		out = append(out, "after a deploy that stopped:")
		out = append(out, deployLines(d.After, describe)...)
	}
	return out
}

func quotedList(list []string) string {
	out := make([]string, len(list))
	for i, text := range list {
		out[i] = fmt.Sprintf("%q", text)
	}
	return strings.Join(out, ", ")
}
