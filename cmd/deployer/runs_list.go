package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/operations"
	"deployer/runs"
	"deployer/runs/history"
)

func newRunsList(e env) *cobra.Command {
	var o historyOptions
	var output string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Long: `List shows the runs of this machine; -i limits the list to the runs of an inventory.
With --from-hosts, or when this machine has no run, it adds the runs whose records
hosts of the inventory keep, and shows where each run was found. Below the runs it then
shows what the keepers of the cluster did, as runs keeper does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			selected := func(r *history.Entry) bool { return true }
			if cmd.Flags().Changed("inventory") {
				selected = o.OfInventory
			}
			runner, err := o.openFor(cmd.Context(), e, operations.AnyRun(selected))
			if err != nil {
				return err
			}
			known := runner.History
			defer known.Close()
			all, err := known.List()
			if err != nil {
				fmt.Fprintf(e.stderr, "deployer: %v\n", err)
			}
			rows := []runRow{}
			for _, r := range all {
				if selected(r) && len(rows) < limit {
					rows = append(rows, newRunRow(r))
				}
			}
			if output == "json" {
				return printJSON(e.stdout, rows)
			}
			asked := len(known.Asked) > 0
			if err := printRuns(e.stdout, rows, asked); err != nil || !asked {
				return err
			}
			return o.addKeeperActions(cmd.Context(), e, runner, limit)
		},
	}
	o.flags(cmd)
	outputFlag(cmd, &output, "table", "json")
	cmd.Flags().IntVarP(&limit, "number", "n", 20, "maximum number of listed runs")
	return cmd
}

// addKeeperActions prints what the keepers did below the runs, newest first. The list of runs does not fail with it.
func (o historyOptions) addKeeperActions(ctx context.Context, e env, runner runs.Runner, number int) error {
	actions, err := o.keeperActions(ctx, e, runner, number)
	if err != nil {
		fmt.Fprintf(e.stderr, "deployer: actions of the keepers: %v\n", err)
	}
	slices.Reverse(actions)
	return addKeeperActions(e.stdout, actions)
}

// runRow is a run as `runs list` shows it.
type runRow struct {
	Run       string         `json:"run"`
	Verb      string         `json:"verb"`
	Playbook  string         `json:"playbook,omitempty"`
	Inventory string         `json:"inventory"`
	By        string         `json:"by"`
	Started   time.Time      `json:"started"`
	Elapsed   time.Duration  `json:"elapsed"` // nanoseconds
	Outcome   engine.Outcome `json:"outcome"`
	Hosts     int            `json:"hosts"`
	Changed   int            `json:"changed"` // steps
	Failed    int            `json:"failed"`  // hosts
	// Found has "here" for the log of this machine, and the hosts that have a record.
	Found []string `json:"found"`
}

func newRunRow(r *history.Entry) runRow {
	h := r.Header
	row := runRow{Run: h.Run, Verb: h.Invocation.Verb, Playbook: h.Invocation.Playbook, Inventory: h.Invocation.Inventory, By: h.By,
		Started: h.Started, Elapsed: r.Elapsed(), Outcome: r.Outcome, Hosts: len(r.Hosts), Changed: r.Results[engine.StatusChanged], Failed: len(r.Parked), Found: r.Places()}
	if h.Plan != nil {
		row.Verb = journal.VerbApply
	}
	if r.Report != nil {
		row.Hosts, row.Changed, row.Failed = len(r.Report.Hosts), r.Report.Changed(), len(r.Report.Broken())
	}
	return row
}

// printRuns prints a table of runs, with found the places of each.
func printRuns(w io.Writer, rows []runRow, found bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	places := func(text string) string {
		if !found {
			return ""
		}
		return "\t" + text
	}
	fmt.Fprintln(table, "RUN\tVERB\tPLAYBOOK\tSTARTED\tELAPSED\tOUTCOME\tHOSTS\tCHANGED\tFAILED"+places("FOUND"))
	for _, r := range rows {
		playbook := "-"
		if r.Playbook != "" {
			playbook = filepath.Base(r.Playbook)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d%s\n", r.Run, r.Verb, playbook, r.Started.Local().Format("2006-01-02 15:04:05"),
			r.Elapsed.Round(100*time.Millisecond), r.Outcome, r.Hosts, r.Changed, r.Failed, places(strings.Join(r.Found, ",")))
	}
	return table.Flush()
}
