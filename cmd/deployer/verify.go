package main

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/project"
	"deployer/tasks/control/report"
)

func newVerifyCommand(e env) *cobra.Command {
	var o runOptions
	var outside, output string
	cmd := &cobra.Command{
		Use:     "verify",
		GroupID: "cluster",
		Short:   "Test the cluster from the inside: nodes, etcd, DNS, pods, services, API, certificates",
		Long: `Verify looks at every host and at the cluster as a whole, and has test pods on a
sample of the nodes reach each other, a Service and names. It changes nothing
that stays. Exit code 0 means that everything is healthy, 5 that something is
not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.output = "text"
			rows, _, err := look(cmd.Context(), e, "verify", o, map[string]any{"verify_outside": outside})
			if err != nil {
				return err
			}
			if output == "json" {
				err = printJSON(e.stdout, rows)
			} else {
				err = printRows(e.stdout, rows)
			}
			if err == nil && len(report.Problems(rows)) > 0 {
				return silent(exitUnhealthy)
			}
			return err
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	askFlags(cmd, &o.Prompt)
	outputFlag(cmd, &output, "table", "json")
	cmd.Flags().StringVar(&outside, "outside", "", "a name outside of the cluster that pods must be able to resolve")
	return cmd
}

// look runs a playbook that only looks, shows its progress on stderr, and
// returns the rows that its tasks found, with the project that it read for that.
// A host that cannot be looked at is a row too.
func look(ctx context.Context, e env, book string, o runOptions, extra map[string]any) ([]report.Row, *project.Project, error) {
	given, err := o.options()
	if err != nil {
		return nil, nil, err
	}
	given.Verb, given.Extra = book, extra
	run, err := newController(e).Inspect(given)
	if err != nil {
		return nil, nil, err
	}
	found := &rowSink{}
	r, err := watched(ctx, run, o.display(e.stderr, run.Hosts).with(found), run.Do)
	if err != nil {
		return nil, nil, err
	}
	if r.Interrupted {
		return nil, nil, silent(exitInterrupted)
	}
	for _, h := range r.Broken() {
		row := report.Bad("host", h.Host, "%s", h.Failure.Message)
		if h.RunOnce { // it is not this host that is bad
			row.Check, row.Host = h.FailedStep, ""
		}
		found.rows = append(found.rows, row)
	}
	return found.rows, run.Project, nil
}

// rowSink gathers the rows that tasks have in their output.
type rowSink struct {
	mu   sync.Mutex
	rows []report.Row
}

// Emit implements engine.Sink.
func (s *rowSink) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil {
		return
	}
	rows := report.Collect(e.Host, e.Result.Output)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, rows...)
}
