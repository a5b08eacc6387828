package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/engine/view"
	"deployer/inventory"
	"deployer/project"
	"deployer/runs"
)

func newRunsShow(e env) *cobra.Command {
	var output string
	var verbose int
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show how a run ended, and what it changed",
		Long: `Show prints the summary of a run, why hosts failed, and the steps that changed
something, hosts with the same changes together; with -v also diffs. Without RUN
it is the last one. The beginning of a run's id is enough. With -o json it prints
the log: a line with the header, then a line for each event.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: ofFirst(completeRuns(anyRun)),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, r, err := theRun(args)
			if err != nil {
				return err
			}
			path := journal.Path(dir, r.Header.Run)
			if output == "json" {
				return copyLog(e.stdout, path)
			}
			return showRun(e.stdout, r, path, verbose > 0)
		},
	}
	outputFlag(cmd, &output, "text", "json")
	cmd.Flags().CountVarP(&verbose, "verbose", "v", "show diffs too")
	return cmd
}

func copyLog(w io.Writer, path string) error {
	enc := json.NewEncoder(w)
	return journal.Scan(path, func(h *journal.Header, ev *engine.Event) error {
		if h != nil {
			return enc.Encode(h)
		}
		return enc.Encode(ev)
	})
}

func showRun(w io.Writer, r *journal.Record, path string, diffs bool) error {
	printHeader(w, r)
	if r.Damaged != nil {
		fmt.Fprintf(w, "  damaged, what follows is not all: %v\n", r.Damaged)
	}
	found := plan.NewCollector()
	if err := journal.Scan(path, func(_ *journal.Header, ev *engine.Event) error {
		if ev != nil {
			found.Emit(*ev)
		}
		return nil
	}); err != nil && r.Damaged == nil {
		return err
	}
	if r.Report == nil { // they are in the order in which they came
		slices.SortFunc(r.Hosts, inventory.ByNumber)
	}
	changes := found.Everything(r.Hosts)
	if len(changes.Changes) > 0 {
		fmt.Fprintln(w, "\nchanged:")
		printChanges(w, changes, diffs, diffs)
	}
	if r.Report != nil {
		again := ""
		if !r.Finished() && runs.Resumable(r.Header.Invocation) {
			again = runs.ResumeCommand(r.Header.Run, r.Header.Invocation.ToGive())
		}
		view.Summary(w, runName(r.Header.Invocation), r.Report, again)
		return nil
	}
	printOpen(w, r)
	return nil
}

func printHeader(w io.Writer, r *journal.Record) {
	h := r.Header
	what := h.Invocation.Verb
	if h.Invocation.Playbook != "" {
		what += " " + project.Relative(h.Invocation.Playbook)
	}
	fmt.Fprintf(w, "run %s: deployer %s -i %s, by %s, started %s, %s\n", h.Run, what, project.Relative(h.Invocation.Inventory), h.By,
		h.Started.Local().Format("2006-01-02 15:04:05"), r.Outcome)
	for _, o := range []struct{ name, value string }{
		{"limit", h.Invocation.Limit}, {"tags", strings.Join(h.Invocation.Tags, ",")}, {"skip tags", strings.Join(h.Invocation.SkipTags, ",")}, {"starts at", h.Invocation.StartAt},
		{"variables", strings.Join(append(slices.Sorted(maps.Keys(h.Invocation.Extra)), h.Invocation.Withheld...), ", ")},
		{"resumes", h.Resumes}, {"applies plan", planFile(h)},
	} {
		if o.value != "" {
			fmt.Fprintf(w, "  %s: %s\n", o.name, o.value)
		}
	}
}

func planFile(h journal.Header) string {
	if h.Plan == nil {
		return ""
	}
	return project.Relative(h.Plan.File)
}

// printOpen tells of a run without an end what it had come to.
func printOpen(w io.Writer, r *journal.Record) {
	fmt.Fprintf(w, "\n%s after %s: %d steps changed something, %d found nothing to do\n", r.Outcome, r.Elapsed().Round(100*time.Millisecond),
		r.Results[engine.StatusChanged], r.Results[engine.StatusOK])
	printFolded(w, r.Hosts, "at", func(host string) string {
		var names []string
		for _, step := range r.Open[host] {
			names = append(names, r.Names[step])
		}
		return strings.Join(names, ", ")
	})
	printFolded(w, r.Hosts, "left out", func(host string) string { return r.Parked[host] })
	if r.Outcome == journal.Killed && runs.Resumable(r.Header.Invocation) {
		fmt.Fprintf(w, "to continue, run:\n  %s\n", runs.ResumeCommand(r.Header.Run, r.Header.Invocation.ToGive()))
	}
}

// printFolded prints a text of each host that has one, hosts with the same together.
func printFolded(w io.Writer, hosts []string, what string, of func(host string) string) {
	with := map[string][]string{}
	for _, host := range hosts {
		if text := of(host); text != "" {
			with[text] = append(with[text], host)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(with)) {
		fmt.Fprintf(w, "  %s %s: %s\n", inventory.CompressText(with[text]), what, text)
	}
}
