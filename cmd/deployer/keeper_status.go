package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"deployer/keeper/status"
	"deployer/keeper/world"
	"deployer/runs"
)

func newKeeperStatus(e env) *cobra.Command {
	var o runOptions
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what the keepers see and do",
		Long: `Status shows the keeper of each master: which one leads, when it made its last pass, its
conditions, what it sees that a person should know, and what it did last. Conditions are
those of Kubernetes' operators: Available says whether it acts, Progressing what it does
now, Degraded what is wrong with the cluster.

The keepers write this to ConfigMap kube-system/deployer-keeper, which kubectl shows, too.
What they did is also in a file of each master, so it is shown when the API does not answer.

Exit code 5 means that a keeper is missing or old, or that one is Degraded.`,
		Example: `  deployer keeper status
  deployer keeper status -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.output = "text"
			given, err := o.resolve()
			if err != nil {
				return err
			}
			r, err := newRunner(e).KeeperStatus(given)
			if err != nil {
				return err
			}
			if err := needsKeeper(r); err != nil {
				return err
			}
			found := &runs.Keepers{}
			done, err := runWithDisplay(cmd.Context(), r, o.progressDisplay(e.stderr, r.TargetHosts()).with(found), r.Do)
			if err != nil {
				return err
			}
			state := found.State()
			switch {
			case done.Interrupted:
				return exitSilently(exitInterrupted)
			case state == nil:
				for _, h := range done.Broken() {
					fmt.Fprintf(e.stderr, "%s: %s\n", h.Host, h.Failure.Message)
				}
				if actions := found.Actions(); output == "text" && len(actions) > 0 {
					if err := printKeeperActions(e.stdout, actions); err != nil {
						return err
					}
				}
				return exitSilently(exitUnhealthy)
			}
			if output == "json" {
				err = printJSON(e.stdout, state)
			} else {
				err = printKeepers(e.stdout, r.Project.Cluster.Masters, state, time.Now())
			}
			if err == nil && !keepersWell(r.Project.Cluster.Masters, state, time.Now()) {
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

// oldStatus is the age from which on a status is not that of a keeper that works: keepers write at
// least every two minutes.
const oldStatus = 5 * time.Minute

// keepersWell reports whether every master has a keeper that works and is not Degraded.
func keepersWell(masters []string, state *runs.KeeperState, now time.Time) bool {
	for _, name := range masters {
		s, there := state.Keepers[name]
		if !there || now.Sub(s.Time) > oldStatus || condition(s, "Degraded").status == world.True {
			return false
		}
	}
	return true
}

// shown is a condition as a table shows it.
type shown struct {
	status          world.Readiness
	reason, message string
}

func condition(s status.Status, kind string) shown {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return shown{c.Status, c.Reason, c.Message}
		}
	}
	return shown{status: world.Unknown}
}

// printKeepers prints a line for each master, and what the keepers see and did.
func printKeepers(w io.Writer, masters []string, state *runs.KeeperState, now time.Time) error {
	if state.Pause.Active(now) {
		fmt.Fprintf(w, "%s\n\n", state.Pause)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HOST\tROLE\tLAST PASS\tAVAILABLE\tDEGRADED\tVERSION")
	var details []string
	for _, name := range masters {
		s, there := state.Keepers[name]
		if !there {
			fmt.Fprintf(table, "%s\t-\tnever\t-\t-\t-\n", name)
			details = append(details, name+": its keeper has not written a status: look at unit deployer-keeper.service there")
			continue
		}
		role := "standby"
		if s.Leader {
			role = "leader"
		}
		if s.DryRun {
			role += ", dry run"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", name, role, ago(s.Time), condition(s, "Available").status, condition(s, "Degraded").status, s.Version)
		details = append(details, keeperDetails(name, s, now)...)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(details) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(details, "\n"))
	}
	return addKeeperActions(w, state.Actions)
}

// keeperDetails returns what a person should know of one keeper.
func keeperDetails(name string, s status.Status, now time.Time) (out []string) {
	if now.Sub(s.Time) > oldStatus {
		out = append(out, fmt.Sprintf("%s: its keeper has not written a status for %s: look at unit deployer-keeper.service there", name, now.Sub(s.Time).Round(time.Second)))
	}
	if c := condition(s, "Available"); c.status == world.False {
		out = append(out, name+": it does nothing: "+c.message)
	}
	for _, p := range s.Problems {
		out = append(out, fmt.Sprintf("%s: %s", p.Reason, p.Message))
	}
	return out
}
