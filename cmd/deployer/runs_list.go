package main

import (
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/engine/journal"
)

func newRunsList(e env) *cobra.Command {
	var output string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, newest first",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := journal.Dir()
			if err != nil {
				return err
			}
			all, err := journal.List(dir)
			if err != nil {
				fmt.Fprintf(e.stderr, "deployer: %v\n", err)
			}
			rows := []runRow{}
			for _, r := range all[:min(limit, len(all))] {
				rows = append(rows, newRunRow(r))
			}
			if output == "json" {
				return printJSON(e.stdout, rows)
			}
			return printRuns(e.stdout, rows)
		},
	}
	outputFlag(cmd, &output, "table", "json")
	cmd.Flags().IntVarP(&limit, "number", "n", 20, "maximum number of listed runs")
	return cmd
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
}

func newRunRow(r *journal.Record) runRow {
	h := r.Header
	row := runRow{Run: h.Run, Verb: h.Invocation.Verb, Playbook: h.Invocation.Playbook, Inventory: h.Invocation.Inventory, By: h.By,
		Started: h.Started, Elapsed: r.Elapsed(), Outcome: r.Outcome, Hosts: len(r.Hosts), Changed: r.Results[engine.StatusChanged], Failed: len(r.Parked)}
	if h.Plan != nil {
		row.Verb = "apply"
	}
	if r.Report != nil {
		row.Hosts, row.Changed, row.Failed = len(r.Report.Hosts), r.Report.Changed(), len(r.Report.Broken())
	}
	return row
}

func printRuns(w io.Writer, rows []runRow) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tVERB\tPLAYBOOK\tSTARTED\tELAPSED\tOUTCOME\tHOSTS\tCHANGED\tFAILED")
	for _, r := range rows {
		playbook := "-"
		if r.Playbook != "" {
			playbook = filepath.Base(r.Playbook)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\n", r.Run, r.Verb, playbook, r.Started.Local().Format("2006-01-02 15:04:05"),
			r.Elapsed.Round(100*time.Millisecond), r.Outcome, r.Hosts, r.Changed, r.Failed)
	}
	return table.Flush()
}
