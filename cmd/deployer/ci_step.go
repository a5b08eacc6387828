package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/ci/change"
	"deployer/ci/pipeline"
	"deployer/engine/journal"
	"deployer/project"
	"deployer/runs"
	"deployer/runs/history"
)

// givenRunID returns the id that CI has written down for the next run of this process. The runs
// after it, and those of programs that this process starts, have ids of their own.
func givenRunID() string {
	id := os.Getenv(pipeline.RunVariable)
	_ = os.Unsetenv(pipeline.RunVariable) // it fails only for a name that is not valid
	return id
}

// ciStep is a step of CI, as words of a command line, whose run is continued without a person who
// confirms what the record of a host claims; empty for none.
type ciStep []string

func (step ciStep) verb() string { return change.Step{Args: step}.Verb() }

// flag adds --step, the words of the step, which only deployer ci sets.
func (step *ciStep) flag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar((*[]string)(step), "step", nil, "word of the command line that CI carries out; set by deployer ci")
	_ = cmd.Flags().MarkHidden("step") // it fails only for an unknown flag
}

// require returns an error unless the run that is to be resumed is the named one, and does what the
// step starts. The name is empty for a rollback, which has several runs. given are the options of
// resume.
func (step ciStep) require(ctx context.Context, e env, name string, r *history.Entry, given runs.Options) error {
	switch {
	case len(step) == 0:
		return nil
	case name != r.Header.Run && (name != "" || step.verb() != change.VerbRollback):
		return project.AsUserError(fmt.Errorf("there is no run %s", name))
	}
	got := r.Header.Invocation
	want, err := step.invocation(ctx, e, r, given)
	if err != nil {
		return fmt.Errorf("comparing run %s with the step deployer %s: %w", r.Header.Run, strings.Join(step, " "), err)
	}
	if different := got.Differences(want); len(different) > 0 {
		return &exitError{exitRefused, fmt.Errorf("nothing was changed: the record of run %s is not that of the step deployer %s: %s; found: %s; to review and confirm it, run: %s",
			r.Header.Run, strings.Join(step, " "), strings.Join(different, "; "), strings.Join(r.Places(), ", "), reviewCommand(strings.Fields(name), given.Inventory))}
	}
	return nil
}

// invocation returns the invocation of the step's run, of which r is the log.
func (step ciStep) invocation(ctx context.Context, e env, r *history.Entry, given runs.Options) (journal.Invocation, error) {
	got := r.Header.Invocation
	inventory, err := filepath.Abs(given.Inventory)
	if err != nil {
		return journal.Invocation{}, err
	}
	switch step.verb() {
	case change.VerbApply: // the survey of the cluster decides between a start of its services and an install
		want := journal.Invocation{Verb: journal.VerbInstall, Inventory: inventory}
		if got.Verb == journal.VerbStart {
			want.Verb = got.Verb
		}
		return want, nil
	case change.VerbRollback: // whichever upgrade was reverted; see requireUpgrades
		vars, err := rollbackVars(r)
		return journal.Invocation{Verb: journal.VerbRevert, Inventory: inventory, Reverts: got.Reverts, Extra: vars}, err
	}
	var want *journal.Invocation
	verb := env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: e.stderr, started: func(r *runs.Run) {
		c := r.RecordedInvocation()
		want = &c
	}}
	root := newRoot(verb)
	root.SetArgs(append(slices.Clone(step), "-i", inventory))
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	switch err := root.ExecuteContext(ctx); {
	case err != nil:
		return journal.Invocation{}, err
	case want == nil:
		return journal.Invocation{}, errors.New("it starts no run")
	}
	return *want, nil
}
