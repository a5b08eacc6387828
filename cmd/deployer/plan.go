package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/engine/view"
	"deployer/inventory"
)

// planOptions are the flags of plan.
type planOptions struct {
	runOptions
	out string
}

func newPlanCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "plan",
		GroupID: "runs",
		Short:   "Show what a run would do, and write it down for apply",
		Long: `Plan connects to the hosts, looks at everything that the run would look at, and
changes nothing. It shows what would be changed, hosts with the same changes
together and each diff once, what would be restarted, how many hosts at a time,
and about how long that takes, by the logs of past runs. With -o it writes the
plan to a file, which deployer apply carries out: that, and nothing else.`,
		Example: `  deployer plan run site.yaml -i inventory.yaml -o plan.json
  deployer plan install -o plan.json && deployer apply plan.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	for _, verb := range []*cobra.Command{newPlanInstall(e), newPlanRun(e)} {
		verb.Args = usageArgs(verb.Args)
		cmd.AddCommand(verb)
	}
	return cmd
}

func newPlanInstall(e env) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "What deployer install would do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			x, err := ownExecution(e, "install", "install", o.runOptions)
			if err != nil {
				return err
			}
			return makePlan(cmd.Context(), e, x, o)
		},
	}
	planFlags(cmd, &o)
	return cmd
}

func newPlanRun(e env) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "run PLAYBOOK",
		Short: "What deployer run would do",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			x, err := userExecution(e, args[0], o.runOptions)
			if err != nil {
				return err
			}
			return makePlan(cmd.Context(), e, x, o)
		},
	}
	planFlags(cmd, &o)
	selectFlags(cmd, &o.runOptions)
	return cmd
}

func planFlags(cmd *cobra.Command, o *planOptions) {
	inventoryFlag(cmd, &o.inventory)
	askFlags(cmd, &o.ask)
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write the plan to this `file`; - is the standard output, instead of the text")
	f.CountVarP(&o.verbose, "verbose", "v", "show all groups of hosts, however many")
	f.IntVar(&o.forks, "forks", 0, "most hosts that are worked on at once (default: the inventory's, or 50)")
}

// makePlan looks at the hosts, shows what would be done, and writes it down.
func makePlan(ctx context.Context, e env, x *execution, o planOptions) error {
	found := plan.NewCollector()
	x.options.check = true
	x.results, x.show = found, looking(e.stderr, x)
	report, err := x.run(ctx)
	if err != nil {
		return err
	}
	if end := report.Outcome(); end != engine.RunDone && end != engine.RunPartial {
		x.again = ""
		view.Summary(e.stderr, "plan of "+x.program.Name, report, "")
		return outcome(report)
	}
	p := x.planned(found)
	if o.out == "-" {
		err = writePlanTo(e.stdout, p)
	} else {
		showPlan(e.stdout, x, p, o.verbose > 0)
		err = writePlan(e.stdout, o.out, p)
	}
	if err != nil {
		return err
	}
	return outcome(report)
}

// planned completes a plan with what it was made from.
func (x *execution) planned(found *plan.Collector) *plan.Plan {
	p := found.Plan(x.hosts)
	p.Deployer, p.Made, p.By = version, time.Now().UTC(), whoami()
	p.Call, p.Files = x.call, x.project.Files()
	p.Call.Extra, p.Call.Withheld = journal.Withhold(x.extra, x.clean)
	return p
}

// looking shows progress on a terminal, and elsewhere only what goes wrong.
func looking(w io.Writer, x *execution) view.Renderer {
	o := x.options.viewOptions(x.hosts)
	o.Check = true
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return onlyTrouble{view.Live(w, o), false}
	}
	return onlyTrouble{view.Lines(w, o), false}
}

// onlyTrouble is a renderer that is not told what steps find: a plan shows that
// in its own way.
type onlyTrouble struct {
	view.Renderer
	json bool
}

// Emit implements engine.Sink.
func (r onlyTrouble) Emit(e engine.Event) {
	switch {
	case e.Type == engine.PlayStart, e.Type == engine.RunStart, e.Type == engine.RunEnd:
		return
	case e.Type == engine.StepEnd && e.Result != nil && e.Result.Failure == nil && r.json:
		return
	case e.Type == engine.StepEnd && e.Result != nil && e.Result.Failure == nil:
		e.Result = &engine.Result{Host: e.Host, Step: e.Step, Status: engine.OK}
	}
	r.Renderer.Emit(e)
}

func writePlan(said io.Writer, path string, p *plan.Plan) error {
	if path == "" {
		return nil
	}
	var b strings.Builder
	if err := writePlanTo(&b, p); err != nil {
		return err
	}
	// Diffs may show what is not for everybody.
	if err := renameio.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	_, err := fmt.Fprintf(said, "written to %s; to do just that:\n  deployer apply %s\n", path, shellWord(path))
	return err
}

func writePlanTo(w io.Writer, p *plan.Plan) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(p)
}

// showPlan shows a plan on one screen, or on all it takes.
func showPlan(w io.Writer, x *execution, p *plan.Plan, all bool) {
	fmt.Fprintf(w, "plan of %s for %s\n", x.program.Name, hostCount(len(p.Hosts)+len(p.LeftOut)))
	printLeftOut(w, p)
	if p.Empty() {
		fmt.Fprintln(w, "nothing to do: everything is as it should be")
		return
	}
	fmt.Fprintln(w)
	printChanges(w, p, true, all)
	fmt.Fprintf(w, "\n%d of %s would change: %s\n", len(changedHosts(p)), hostCount(len(p.Hosts)), counts(p))
	if names := restarts(p); len(names) > 0 {
		fmt.Fprintf(w, "restarted: %s\n", strings.Join(names, ", "))
	}
	if hosts := rebooted(p); len(hosts) > 0 {
		fmt.Fprintf(w, "rebooted: %s (%s)\n", inventory.CompressText(hosts), hostCount(len(hosts)))
	}
	for _, t := range p.Turns() {
		fmt.Fprintf(w, "in turns: %s, at most %s at a time, %s\n", strings.Join(t.Steps, ", "), hostCount(t.AtOnce), counted(t.Turns, "turn"))
	}
	printDoubts(w, p)
	forks := x.forks()
	if forks == 0 {
		forks = 50
	}
	if took, runs, ok := expectedTime(p, forks); ok {
		fmt.Fprintf(w, "expected time: about %s, by %s of this playbook\n", took, runs)
	} else {
		fmt.Fprintln(w, "expected time: not known, no past run on this machine tells")
	}
}

// printLeftOut names the hosts that the plan is not for, those with the same
// reason together.
func printLeftOut(w io.Writer, p *plan.Plan) {
	why := map[string][]string{}
	var order []string
	for _, h := range slices.Sorted(maps.Keys(p.LeftOut)) {
		cause := p.LeftOut[h]
		if why[cause] == nil {
			order = append(order, cause)
		}
		why[cause] = append(why[cause], h)
	}
	for _, cause := range order {
		fmt.Fprintf(w, "LEFT OUT  %s: %s\n", inventory.CompressText(why[cause]), strings.ReplaceAll(cause, "\n", " "))
	}
}

// printDoubts says what the plan does not know.
func printDoubts(w io.Writer, p *plan.Plan) {
	unknown, open := 0, 0
	for _, c := range p.Changes {
		if c.Unknown != "" {
			unknown++
		}
	}
	for _, h := range p.Hosts {
		if h.Opaque != nil {
			open++
		}
	}
	if unknown > 0 {
		fmt.Fprintf(w, "not known before it is done: %s, marked as unknown above\n", counted(unknown, "step"))
	}
	if open > 0 {
		fmt.Fprintf(w, "on %s a command, a package, a unit that starts or an unknown step may give later steps more to do\n", hostCount(open))
	}
}

// expectedTime is the estimate by the logs of past runs.
func expectedTime(p *plan.Plan, forks int) (took time.Duration, runs string, ok bool) {
	dir, err := journal.Dir()
	if err != nil {
		return 0, "", false
	}
	past, _ := journal.List(dir) // those that can be read will do
	history := &plan.History{}
	for _, r := range past {
		if history.Runs == pastRuns || !r.Header.Call.Same(p.Call) || r.Report == nil {
			continue
		}
		if journal.Scan(journal.Path(dir, r.Header.Run), func(_ *journal.Header, ev *engine.Event) error {
			if ev != nil {
				history.Add(*ev)
			}
			return nil
		}) == nil {
			history.EndRun()
		}
	}
	took, ok = history.Estimate(p, forks)
	runs = fmt.Sprintf("%d past runs", history.Runs)
	if history.Runs == 1 {
		runs = "the last run"
	}
	return max(took.Round(time.Second), time.Second), runs, ok
}

// pastRuns is how many past runs an estimate looks at.
const pastRuns = 5
