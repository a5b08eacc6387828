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
	"deployer/runs/history"
	"deployer/runs/timeline/picture"
	"deployer/runs/timeline/timelog"
)

func newRunsShow(e env) *cobra.Command {
	var o historyOptions
	var output, file string
	var verbose int
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Show the outcome and the changes of a run",
		Long: `Show prints the summary of a run, the failures of hosts, and the steps that changed
something, one entry for all hosts with the same changes; -v adds diffs, and from where
hosts have received large files. Without RUN it shows the last run, with -i the last one
of that inventory. The beginning of a run's id is enough. -o json prints the log: a line
with the header, then a line for each event.

--html writes one HTML file that needs no other and asks for nothing from the network:
failures, the lanes of all hosts over time, the critical path, the slowest steps, and
the waits with the hosts that caused them. It is RUN.html in the working directory, or
the file of --html=FILE; "-" means standard output. -o svg prints the lanes and the
critical path as one picture, for a report; of more than 60 hosts it has those that
failed and those of the critical path first.

With --from-hosts, or when this machine has no such run, show reads the record that
hosts of the inventory keep: the log without diffs. It reports whether the run is still
in progress, by the run lock of these hosts, or was interrupted.`,
		Example: `  deployer runs show 20261121-14 -v
  deployer runs show --html=last.html
  deployer runs show -o svg > last.svg`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: firstArg(completeRuns(anyRun)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkHTMLFlag(file, output, args); err != nil {
				return usageError(err)
			}
			known, err := o.open(cmd.Context(), newRunner(e), e, o.wantedRun(cmd, args))
			if err != nil {
				return err
			}
			defer known.Close()
			r, err := o.findRun(cmd, known, args)
			if err != nil {
				return err
			}
			switch {
			case file != "":
				return writePage(e, r, file)
			case output == "json":
				return copyLog(e.stdout, r.Path)
			case output == "svg":
				return drawRun(e.stdout, r)
			}
			return showRun(e.stdout, r, verbose > 0)
		},
	}
	o.flags(cmd)
	outputFlag(cmd, &output, "text", "json", "svg")
	htmlFlag(cmd, &file)
	cmd.Flags().CountVarP(&verbose, "verbose", "v", "show diffs, and the sources of large files")
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

// drawRun prints the timeline of a run as a picture.
func drawRun(w io.Writer, r *history.Entry) error {
	t, err := timelog.Read(r.Record, r.Path)
	if err != nil {
		return err
	}
	return picture.Write(w, "run "+r.Header.Run, t)
}

func showRun(w io.Writer, r *history.Entry, diffs bool) error {
	path := r.Path
	printHeader(w, r)
	if r.Damaged != nil {
		fmt.Fprintf(w, "  the log is damaged, and the following is incomplete: %v\n", r.Damaged)
	}
	found, sources := plan.NewCollector(), &distribution{}
	if err := journal.Scan(path, func(_ *journal.Header, ev *engine.Event) error {
		if ev != nil {
			found.Emit(*ev)
			sources.Emit(*ev)
		}
		return nil
	}); err != nil && r.Damaged == nil {
		return err
	}
	if r.Report == nil { // without a report the hosts are in the order of their first events
		slices.SortFunc(r.Hosts, inventory.ByNumber)
	}
	changes := found.Everything(r.Hosts)
	if len(changes.Changes) > 0 {
		fmt.Fprintln(w, "\nchanged:")
		printChanges(w, changes, diffs, diffs)
	}
	sources.print(w, diffs)
	if r.Report != nil {
		resume := ""
		if !r.Finished() && runs.Resumable(r.Header.Invocation) {
			resume = runs.ResumeCommand(r.Header.Run, r.Header.Invocation.ToGive())
		}
		view.Summary(w, runName(r.Header.Invocation), r.Report, resume)
		return nil
	}
	printInFlight(w, r)
	return nil
}

func printHeader(w io.Writer, r *history.Entry) {
	h := r.Header
	fmt.Fprintf(w, "run %s: %s, by %s, started %s, %s\n", h.Run, commandLine(h.Invocation), h.By,
		h.Started.Local().Format("2006-01-02 15:04:05"), r.Outcome)
	for _, o := range []struct{ name, value string }{
		{"limit", h.Invocation.Limit}, {"tags", strings.Join(h.Invocation.Tags, ",")}, {"skip tags", strings.Join(h.Invocation.SkipTags, ",")}, {"start at", h.Invocation.StartAt},
		{"variables", strings.Join(append(slices.Sorted(maps.Keys(h.Invocation.Extra)), h.Invocation.Withheld...), ", ")},
		{"resumes", h.Resumes}, {"applies plan", planFile(h)}, {"found", foundAt(r)}, {"in progress", holder(r)},
	} {
		if o.value != "" {
			fmt.Fprintf(w, "  %s: %s\n", o.name, o.value)
		}
	}
}

// commandLine returns the command that started a run, without its options.
func commandLine(c journal.Invocation) string {
	command := "deployer " + c.Verb
	if c.Playbook != "" {
		command += " " + project.Relative(c.Playbook)
	}
	return command + " -i " + project.Relative(c.Inventory)
}

// foundAt returns the places of a run's log, if hosts were asked.
func foundAt(r *history.Entry) string {
	if len(r.Keepers) == 0 {
		return ""
	}
	return strings.Join(r.Places(), ", ")
}

// holder describes the process that still executes a run of another machine.
func holder(r *history.Entry) string {
	if r.Holder == nil || r.Here {
		return ""
	}
	return fmt.Sprintf("as process %d of %s, which holds the lock of the hosts", r.Holder.PID, r.Holder.By)
}

func planFile(h journal.Header) string {
	if h.Plan == nil {
		return ""
	}
	return project.Relative(h.Plan.File)
}

// printInFlight prints the state of a run that has no report: running or killed.
func printInFlight(w io.Writer, r *history.Entry) {
	fmt.Fprintf(w, "\n%s after %s: %d steps changed, %d unchanged\n", r.Outcome, r.Elapsed().Round(100*time.Millisecond),
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

// printFolded prints a text for each host that has one; hosts with the same text share
// a line.
func printFolded(w io.Writer, hosts []string, label string, textOf func(host string) string) {
	byText := map[string][]string{}
	for _, host := range hosts {
		if text := textOf(host); text != "" {
			byText[text] = append(byText[text], host)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		fmt.Fprintf(w, "  %s %s: %s\n", inventory.CompressText(byText[text]), label, text)
	}
}
