package main

import (
	"context"

	"github.com/spf13/cobra"

	"deployer/project"
	"deployer/runs"
	"deployer/tasks/control/report"
)

func newVerifyCommand(e env) *cobra.Command {
	var o runOptions
	var outside, output string
	var tests conformanceFlags
	cmd := &cobra.Command{
		Use:     "verify",
		GroupID: "cluster",
		Short:   "Test the cluster: nodes, etcd, DNS, pods, services, API, certificates",
		Long: `Verify checks every host and the cluster as a whole. Test pods on a sample of the
nodes connect to each other and to a Service and resolve names; verify removes them at
its end. The exit code is 0 when all checks pass, and 5 when one finds a problem.

With --conformance verify runs the conformance tests of Kubernetes itself instead, from one
pod with the rights of cluster-admin on a master. It asks first, because these tests create
and remove objects in the whole cluster. Nodes get the images from artifacts.source and need
no registry. Verify shows each test that fails, copies junit_01.xml and e2e.log into a
directory, and removes what it has created, also when it is interrupted. The exit code is 0
when all tests pass, 5 when one fails, and 1 when they could not be run to their end or none
was selected.`,
		Example: `  deployer verify
  deployer verify --conformance --focus '\[sig-network\].*\[Conformance\]' --junit junit.xml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.output = "text"
			if err := tests.check(cmd); err != nil {
				return err
			}
			if tests.enabled {
				return verifyConformance(cmd.Context(), e, o, tests, output)
			}
			rows, _, err := inspect(cmd.Context(), e, "verify", o, map[string]any{"verify_outside": outside})
			if err != nil {
				return err
			}
			if output == "json" {
				err = printJSON(e.stdout, rows)
			} else {
				err = printRows(e.stdout, rows)
			}
			if err == nil && len(report.Problems(rows)) > 0 {
				return exitSilently(exitUnhealthy)
			}
			return err
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	outputFlag(cmd, &output, "table", "json")
	cmd.Flags().StringVar(&outside, "outside", "", "also test that pods resolve this name outside of the cluster")
	tests.add(cmd.Flags())
	return cmd
}

// inspect runs a built-in playbook that changes nothing, shows its progress on stderr,
// and returns the rows of its tasks and the project. An unreachable or failed host is a
// row with a problem.
func inspect(ctx context.Context, e env, verb string, o runOptions, extra map[string]any) ([]report.Row, *project.Project, error) {
	given, err := o.resolve()
	if err != nil {
		return nil, nil, err
	}
	given.Verb, given.Extra = verb, extra
	run, err := newRunner(e).Inspect(given)
	if err != nil {
		return nil, nil, err
	}
	found := &runs.CheckRows{}
	r, err := runWithDisplay(ctx, run, o.display(e.stderr, run.Hosts).with(found), run.Do)
	if err != nil {
		return nil, nil, err
	}
	if r.Interrupted {
		return nil, nil, exitSilently(exitInterrupted)
	}
	rows := found.All()
	for _, h := range r.Broken() {
		row := report.Bad("host", h.Host, "%s", h.Failure.Message)
		if h.RunOnce { // a check of the whole cluster failed
			row.Check, row.Host = h.FailedStep, ""
		}
		rows = append(rows, row)
	}
	return rows, run.Project, nil
}
