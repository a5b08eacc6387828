package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/engine"
	"deployer/runs"
	"deployer/tasks/control/report"
)

func newEtcdStatus(e env) *cobra.Command {
	var o runOptions
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the members of etcd and their databases",
		Long: `Status shows each member of etcd: whether it serves, which one leads, the revision and
the size of its database, and how much of the file holds no data. Problems and alarms
follow. It also works without a majority.

Exit code 5 means that a member does not serve or that there is an alarm.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.output = "text"
			given, err := o.resolve()
			if err != nil {
				return err
			}
			r, err := newRunner(e).EtcdStatus(given)
			if err != nil {
				return err
			}
			members, rows := &etcdMembers{}, &runs.CheckRows{}
			done, err := runWithDisplay(cmd.Context(), r, o.progressDisplay(e.stderr, r.Hosts).with(members).with(rows), r.Do)
			if err != nil {
				return err
			}
			if done.Interrupted {
				return exitSilently(exitInterrupted)
			}
			problems := report.Problems(rows.All())
			for _, h := range done.Broken() {
				problems = append(problems, report.Bad("host", h.Host, "%s", h.Failure.Message))
			}
			if output == "json" {
				err = printJSON(e.stdout, map[string]any{"members": members.list, "problems": problems})
			} else {
				err = printEtcdStatus(e.stdout, members.list, problems)
			}
			if err == nil && len(problems) > 0 {
				return exitSilently(exitUnhealthy)
			}
			return err
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	outputFlag(cmd, &output, "text", "json")
	return cmd
}

// etcdMembers keeps the output of the action etcd_members.
type etcdMembers struct {
	mu   sync.Mutex
	list []cluster.EtcdMemberState
}

// Emit implements engine.Sink.
func (m *etcdMembers) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil || e.Result.Output["snapshot_host"] == nil {
		return
	}
	text, err := json.Marshal(e.Result.Output["members"])
	if err != nil {
		return // it came as JSON
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []cluster.EtcdMemberState
	if json.Unmarshal(text, &list) == nil {
		m.list = list
	}
}

func printEtcdStatus(w io.Writer, members []cluster.EtcdMemberState, problems []report.Row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MEMBER\tSTATE\tVERSION\tREVISION\tDATABASE\tIN USE\tUNUSED")
	for _, m := range members {
		if !m.Answers {
			fmt.Fprintf(table, "%s\tdown\t-\t-\t-\t-\t-\n", m.Host)
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\t%.0f %%\n", m.Host, etcdState(m), m.Version, m.Revision,
			mebibytes(float64(m.DBSize)), mebibytes(float64(m.DBInUse)), 100*m.Fragmentation())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintf(w, "%s %s: %s\n", p.Check, p.Host, p.Detail)
		if p.Fix != "" {
			fmt.Fprintf(w, "  %s\n", p.Fix)
		}
	}
	return nil
}

func etcdState(m cluster.EtcdMemberState) string {
	switch {
	case m.Learner:
		return "learner"
	case !m.Serves:
		return "no quorum"
	case m.Leader:
		return "leader"
	}
	return "follower"
}
