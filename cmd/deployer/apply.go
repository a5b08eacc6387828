package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"deployer/inventory"
	"deployer/project"
	"deployer/runs"
)

func newApplyCommand(e env) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:     "apply PLAN",
		GroupID: "runs",
		Short:   "Do what a plan says, and nothing else",
		Long: `Apply carries out a plan that deployer plan has written. First it looks at all
files and hosts again, and refuses, with all differences at once, when the
inventory, the playbook or a host is not what the plan was made for. Then each
step is held to the plan on its host: one that would do something else fails
before it does it.

A refusal has the exit code 4, and nothing was changed. When it was stopped in
the middle, deployer resume goes on with it.`,
		Example: "  deployer apply plan.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, from, err := runs.ReadPlan(args[0])
			if err != nil {
				return err
			}
			given, err := o.options()
			if err != nil {
				return err
			}
			r, err := newController(e).Apply(p, from, given)
			if err != nil {
				return told(e, err)
			}
			return carryOut(cmd.Context(), e, r, o)
		},
	}
	outputFlag(cmd, &o.output, "text", "json")
	askFlags(cmd, &o.Prompt)
	verboseFlag(cmd, &o)
	forksFlag(cmd, &o, "the plan's, the inventory's, or 50")
	variablesFlag(cmd, &o, "that the plan holds only by name, as they look like secrets")
	lockTimeoutFlag(cmd, &o)
	putBackFlag(cmd, &o)
	return cmd
}

// shownDrift is how many lines of drift are shown.
const shownDrift = 30

// told shows all drift when that is the error, hosts with the same together.
func told(e env, err error) error {
	var drifted *runs.DriftError
	if !errors.As(err, &drifted) {
		return err
	}
	fmt.Fprintln(e.stderr, "refused: this is not what the plan was made for")
	order, whats := []string{}, map[string][]string{}
	for _, d := range drifted.Drift {
		if whats[d.Difference] == nil {
			order = append(order, d.Difference)
		}
		whats[d.Difference] = append(whats[d.Difference], project.Relative(d.Subject))
	}
	for i, how := range order {
		if i == shownDrift {
			fmt.Fprintf(e.stderr, "  and %d more\n", len(order)-i)
			break
		}
		printDrift(e.stderr, whats[how], how)
	}
	return &exitError{exitRefused, errors.New("nothing was changed; make a new plan, or put back what differs")}
}

func printDrift(w io.Writer, whats []string, how string) {
	fmt.Fprintf(w, "  %s: %s\n", inventory.CompressText(whats), strings.ReplaceAll(how, "\n", " "))
}
