package main

import (
	"github.com/spf13/cobra"

	"deployer/cluster"
	"deployer/runs"
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

A cluster with an etcd cluster of events (cluster.etcd.events) has a second table, of its members.

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
				err = printJSON(e.stdout, members.document(problems))
			} else {
				err = members.print(e.stdout, problems)
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
