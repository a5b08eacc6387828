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
		Short:   "Execute a plan, and nothing but the plan",
		Long: `Apply executes a plan that deployer plan has written. It first compares all files
and checks all hosts again. When the inventory, the playbook or a host differs from
the plan, apply lists all differences, changes nothing and ends with exit code 4.
Each step is then compared with the plan on its host: a step whose effects differ
fails before it changes anything.

deployer resume continues an interrupted apply.`,
		Example: "  deployer apply plan.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, from, err := runs.ReadPlan(args[0])
			if err != nil {
				return err
			}
			given, err := o.resolve()
			if err != nil {
				return err
			}
			r, err := newRunner(e).Apply(p, from, given)
			if err != nil {
				return printDrift(e, err)
			}
			return execute(cmd.Context(), e, r, o)
		},
	}
	outputFlag(cmd, &o.output, "text", "json")
	promptFlags(cmd, &o.Prompt)
	verboseFlag(cmd, &o)
	forksFlag(cmd, &o, "forks of the plan or of the inventory, or 50")
	variablesFlag(cmd, &o, "whose values the plan omits because their names look like secrets")
	lockTimeoutFlag(cmd, &o)
	noRestoreFlag(cmd, &o)
	return cmd
}

// shownDrift is the maximum number of printed lines of drift.
const shownDrift = 30

// printDrift prints the drift of a *runs.DriftError, one line for all hosts with the
// same difference, and returns an error with exitRefused. It returns other errors
// unchanged.
func printDrift(e env, err error) error {
	var drifted *runs.DriftError
	if !errors.As(err, &drifted) {
		return err
	}
	fmt.Fprintln(e.stderr, "refused: files or hosts differ from the plan")
	order, subjects := []string{}, map[string][]string{} // by difference
	for _, d := range drifted.Drift {
		if subjects[d.Difference] == nil {
			order = append(order, d.Difference)
		}
		subjects[d.Difference] = append(subjects[d.Difference], project.Relative(d.Subject))
	}
	for i, difference := range order {
		if i == shownDrift {
			fmt.Fprintf(e.stderr, "  and %d more\n", len(order)-i)
			break
		}
		printDriftLine(e.stderr, subjects[difference], difference)
	}
	return &exitError{exitRefused, errors.New("nothing was changed; make a new plan, or revert the differences")}
}

func printDriftLine(w io.Writer, subjects []string, difference string) {
	fmt.Fprintf(w, "  %s: %s\n", inventory.CompressText(subjects), strings.ReplaceAll(difference, "\n", " "))
}
