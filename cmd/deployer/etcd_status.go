package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/sanitize"
	"deployer/runs"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/report"
)

func newEtcdStatus(e env) *cobra.Command {
	var o runOptions
	var output string
	cmd := &cobra.Command{
		Use:     "status",
		Aliases: []string{"members"},
		Short:   "Show the members of etcd and their databases",
		Long: `Status shows each member of etcd: its ID, whether it serves, which one leads, the
revision and size of its database, and how much of the file holds no data. Members that
no host of the inventory has, problems and alarms follow. It also works without a
majority. With --output json it has the peer URLs, too.

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
				err = printJSON(e.stdout, map[string]any{"members": members.list, "others": members.others, "problems": problems})
			} else {
				err = printEtcdStatus(e.stdout, slices.Concat(members.list, members.others), problems)
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
	mu     sync.Mutex
	list   []cluster.EtcdMemberState // one for each etcd host
	others []cluster.EtcdMemberState // those of no host
}

// Emit implements engine.Sink.
func (m *etcdMembers) Emit(e engine.Event) {
	out := e.ActionOutput()
	if out["snapshot_host"] == nil {
		return
	}
	var found struct {
		Members []cluster.EtcdMemberState `json:"members"`
		Others  []cluster.EtcdMemberState `json:"others"`
	}
	if out.Decode(&found) != nil {
		return // the output of another task
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list, m.others = found.Members, found.Others
}

func printEtcdStatus(w io.Writer, members []cluster.EtcdMemberState, problems []report.Row) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tMEMBER\tSTATE\tVERSION\tREVISION\tDATABASE\tIN USE\tUNUSED")
	for i := range members {
		sanitize.Fields(&members[i])
	}
	listed := slices.ContainsFunc(members, func(m cluster.EtcdMemberState) bool { return m.Listed })
	for _, m := range members {
		host, id := cmp.Or(m.Host, "("+cmp.Or(m.Member, strings.Join(m.PeerURLs, ","))+")"), cmp.Or(m.ID, "-")
		if !m.Answers {
			fmt.Fprintf(table, "%s\t%s\t%s\t-\t-\t-\t-\t-\n", host, id, etcdState(m, listed))
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\t%.0f %%\n", host, id, etcdState(m, listed), m.Version, m.Revision,
			etcd.Mebibytes(m.DBSize), etcd.Mebibytes(m.DBInUse), 100*m.Fragmentation())
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

// etcdState returns the state of a member in one or two words. listed is true when the
// member list could be read, which needs a majority.
func etcdState(m cluster.EtcdMemberState, listed bool) string {
	switch {
	case listed && !m.Listed:
		return "no member"
	case m.Learner && m.Member == "" && m.Listed:
		return "not started"
	case m.Learner && !m.Answers:
		return "learner, down"
	case m.Learner:
		return "learner"
	case !m.Answers:
		return "down"
	case !m.Serves:
		return "no quorum"
	case m.Leader:
		return "leader"
	}
	return "follower"
}
