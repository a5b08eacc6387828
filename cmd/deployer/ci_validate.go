package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"deployer/ci/gate"
	"deployer/ci/pipeline"
	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/engine/sanitize"
	"deployer/internal/tempdir"
	"deployer/project"
)

func newCIValidate(e env) *cobra.Command {
	var o ciOptions
	var hook bool
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Refuse a revision that is not valid or breaks a gate, without touching the network",
		Long: `Validate checks the inventories of a revision, compares each cluster with its
present revision, and applies the gates that need no host. It runs no command of the
revision and reads none of its secrets, so a hook may run it for every push.

With --hook it is the pre-receive hook of a bare repository: it reads the pushed refs from
standard input, and a push to the branch that breaks a rule is refused with the reason,
file and line in the terminal of the person who pushes. It also refuses pushes that
change refs/deployer/, the state of runs, and are not signed by the service.`,
		Example: `  deployer ci validate --old origin/main
  deployer ci validate --hook     # in hooks/pre-receive`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !hook {
				return o.quoting(e, func(e env) error { return o.validate(cmd.Context(), e, "") })
			}
			pushed, err := readPushed(cmd.Context(), e, o.repository, o.branch)
			if err == nil {
				err = checkPush(cmd.Context(), o.repository, pushed.updates)
			}
			if err != nil || pushed.new == "" {
				return err
			}
			o.new = pushed.new
			return o.validate(cmd.Context(), e, pushed.old)
		},
	}
	o.flags(cmd)
	o.revisionFlags(cmd)
	hookFlag(cmd, &hook)
	return cmd
}

// hookFlag adds the flag of verbs that serve as hooks.
func hookFlag(cmd *cobra.Command, hook *bool) {
	cmd.Flags().BoolVar(hook, "hook", false, "read the pushed refs from standard input, as git gives them to a hook; pushes to --branch count")
}

// pushedRef is the change of a branch by a push, among all updates of the push. new is empty when
// the push changed another one only, or deleted it.
type pushedRef struct {
	old, new string
	updates  []repository.RefUpdate
}

// checkPush refuses a push that changes the state of runs and is not the service's.
func checkPush(ctx context.Context, dir string, updates []repository.RefUpdate) error {
	repo, err := repository.Open(ctx, dir)
	if err != nil {
		return project.AsUserError(err)
	}
	if err := repo.CheckPush(ctx, repo.PublicKeys(ctx), updates); err != nil {
		return &exitError{exitRefused, fmt.Errorf("the push is refused: %w", err)}
	}
	return nil
}

// readPushed reads the lines "OLD NEW REF" of a hook.
func readPushed(ctx context.Context, e env, dir, branch string) (pushedRef, error) {
	repo, err := repository.Open(ctx, dir)
	if err != nil {
		return pushedRef{}, project.AsUserError(err)
	}
	if branch == "" {
		branch = repo.Head(ctx)
	}
	var out pushedRef
	lines := bufio.NewScanner(e.stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) != 3 {
			return out, usageError(fmt.Errorf("standard input: want lines of OLD NEW REF, as git gives them to a hook, got %q", lines.Text()))
		}
		update := repository.RefUpdate{Old: words[0], New: words[1], Ref: words[2]}
		out.updates = append(out.updates, update)
		if update.Ref == "refs/heads/"+branch && !update.Deletes() {
			out.old, out.new = update.Old, update.New
		}
	}
	return out, lines.Err()
}

// validate assesses a revision with checkouts that it removes: the objects of a push that is
// refused are gone afterwards.
func (o ciOptions) validate(ctx context.Context, e env, before string) error {
	r, p, remove, err := o.assess(ctx, before)
	if err != nil {
		return err
	}
	defer remove()
	if err := o.show(e, p, r, o.reports != ""); err != nil {
		return err
	}
	return ciExit(r)
}

// assess assesses the revision of the flags in a directory of its own, which the returned
// function removes.
func (o ciOptions) assess(ctx context.Context, before string) (*report.Run, *pipeline.Pipeline, func(), error) {
	dir, err := tempdir.New("", "deployer-ci-")
	if err != nil {
		return nil, nil, nil, err
	}
	remove := func() { _ = dir.Remove() }
	o.state, o.unmerged = dir.Path, true
	p, err := o.open(ctx, before, io.Discard, nil)
	if err == nil {
		var r *report.Run
		if r, err = p.Assess(ctx); err == nil {
			return r, p, remove, nil
		}
	}
	remove()
	return nil, nil, nil, err
}

// printCIRun prints what a person needs at the end: each cluster with its change, findings
// with their places, and the stages that did not pass.
func printCIRun(w io.Writer, p *pipeline.Pipeline, r *report.Run) {
	var b strings.Builder
	for _, c := range r.Clusters {
		kinds := c.Change.Kinds()
		words := make([]string, len(kinds))
		for i, k := range kinds {
			words[i] = string(k)
		}
		fmt.Fprintf(&b, "%s: %s", sanitize.Line(c.Name), strings.Join(words, ", "))
		if c.Outcome != "" {
			fmt.Fprintf(&b, ": %s", c.Outcome)
		}
		b.WriteString("\n")
		if !c.Change.Nothing() {
			for _, line := range report.Lines(c.Change) {
				fmt.Fprintf(&b, "  %s\n", sanitize.Line(line))
			}
		}
	}
	if r.Plan != "" {
		fmt.Fprintf(&b, "plan of the push: %s\n", r.Plan)
	}
	for _, f := range r.Findings() {
		word := "refused"
		if f.Level == gate.Advise {
			word = "advice"
		}
		fmt.Fprintf(&b, "%s: %s\n", word, sanitize.Line(f.String()))
	}
	for _, s := range r.Stages {
		fmt.Fprintf(&b, "%-24s %s (%.1f s)\n", s.Name, s.Outcome, s.Seconds)
	}
	fmt.Fprint(w, p.Mask(b.String()))
}
