package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"deployer/inventory"
	"deployer/operations"
	"deployer/project"
	"deployer/runs"
)

// applyOptions are the flags of apply.
type applyOptions struct {
	runOptions
	yes, upgrade     bool
	detailedExitCode bool
}

// exitCode maps the outcome of an apply to the exit code that the flags select.
func (o applyOptions) exitCode(differed bool, err error) error {
	switch {
	case err == nil && differed && o.detailedExitCode:
		return exitSilently(exitDiffers)
	case o.detailedExitCode && exitCode(err) == exitUsage:
		return &exitError{exitFailed, err} // 2 means differences
	}
	return err
}

// reconcile compares a cluster with its inventory and removes the differences. It reports whether
// there were some, when it returns no error.
func reconcile(ctx context.Context, c *console, upgrade bool) (differed bool, err error) {
	given, err := c.resolve()
	if err != nil {
		return false, err
	}
	differed, err = c.operator(newRunner(c.env)).Apply(ctx, operations.ApplyOptions{Options: given, Upgrade: upgrade})
	return differed, printDrift(c.env, err)
}

func newApplyCommand(e env) *cobra.Command {
	var o applyOptions
	cmd := &cobra.Command{
		Use:     "apply [PLAN]",
		GroupID: "runs",
		Short:   "Make the cluster as the inventory describes it, or execute a plan",
		Long: `Without an argument apply compares the cluster with the inventory and removes the
differences. It examines the hosts, etcd and the Kubernetes API, prints what it found
and the plan, asks, and executes exactly this plan:

  nothing is installed      the cluster is installed
  hosts are missing         they join
  files, units, manifests   they are restored, and what the inventory no longer names
  or objects differ         is removed
  components are broken     they are repaired where that is safe; the order in which
                            broken machines may be replaced is printed
  versions are older        the upgrade is printed; --upgrade executes it
  versions are newer        refused: deployer rollback lowers versions
  etcd has lost its quorum  nothing is changed, exit code 7
  nothing differs           nothing is changed, exit code 0

With a PLAN that deployer plan has written, apply executes that plan and nothing else.
It first compares all files and checks all hosts again. When the inventory, the
playbook or a host differs from the plan, apply lists all differences, changes nothing
and ends with exit code 4. Each step is then compared with the plan on its host: a
step whose effects differ fails before it changes anything.

deployer resume continues an interrupted apply.`,
		Example: `  deployer apply -i inventory.yaml
  deployer apply --upgrade
  deployer apply plan.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return o.exitCode(reconcile(cmd.Context(), newConsole(e, o.runOptions, o.yes), o.upgrade))
			}
			for _, flag := range []string{"inventory", "check", "yes", "upgrade", "detailed-exitcode"} {
				if cmd.Flags().Changed(flag) {
					return usageError(fmt.Errorf("--%s is for an apply without a plan file; leave it out, or leave out %s", flag, args[0]))
				}
			}
			return applyPlan(cmd, e, args[0], o.runOptions)
		},
	}
	runFlags(cmd, &o.runOptions)
	variablesFlag(cmd, &o.runOptions, "whose values the plan omits because their names look like secrets")
	lockTimeoutFlag(cmd, &o.runOptions)
	noRestoreFlag(cmd, &o.runOptions)
	f := cmd.Flags()
	f.BoolVar(&o.Check, "check", false, "change nothing, show the differences and the plan")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not prompt for confirmation")
	f.BoolVar(&o.upgrade, "upgrade", false, "also upgrade older components of a healthy cluster, as deployer upgrade does without flags")
	f.BoolVar(&o.detailedExitCode, "detailed-exitcode", false, "end with 0 when there was no difference, 2 when there was one, and 1 for errors of the command line")
	return cmd
}

// applyPlan executes the plan of a file.
func applyPlan(cmd *cobra.Command, e env, file string, o runOptions) error {
	p, from, err := runs.ReadPlan(file)
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
}

// shownDrift is the maximum number of printed lines of drift.
const shownDrift = 30

// printDrift prints the drift of a *runs.DriftError, one line for all hosts with the
// same difference, and returns an error with exitRefused. printDrift returns other errors
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
