package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"deployer/engine/plan"
	"deployer/engine/view"
	"deployer/inventory"
	"deployer/runs"
	"deployer/shellquote"
)

// planOptions are the flags of plan.
type planOptions struct {
	runOptions
	out string
}

func newPlanCommand(e env) *cobra.Command {
	return group(&cobra.Command{
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
	}, newPlanInstall(e), newPlanRun(e))
}

func newPlanInstall(e env) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "What deployer install would do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return makePlan(cmd.Context(), e, runs.Runner.Install, o)
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
			o.Playbook = args[0]
			return makePlan(cmd.Context(), e, runs.Runner.Playbook, o)
		},
	}
	planFlags(cmd, &o)
	selectFlags(cmd, &o.runOptions)
	return cmd
}

func planFlags(cmd *cobra.Command, o *planOptions) {
	inventoryFlag(cmd, &o.Inventory)
	askFlags(cmd, &o.Prompt)
	f := cmd.Flags()
	f.StringVarP(&o.out, "out", "o", "", "write the plan to this `file`; - is the standard output, instead of the text")
	f.CountVarP(&o.verbose, "verbose", "v", "show all groups of hosts, however many")
	forksFlag(cmd, &o.runOptions, "the inventory's, or 50")
}

// makePlan looks at the hosts, shows what would be done, and writes it down.
func makePlan(ctx context.Context, e env, ready func(runs.Runner, runs.Options) (*runs.Run, error), o planOptions) error {
	given, err := o.options()
	if err != nil {
		return err
	}
	given.Check = true
	r, err := ready(newController(e), given)
	if err != nil {
		return err
	}
	found, err := watched(ctx, r, o.looking(e.stderr, r.TargetHosts()), r.Plan)
	if err != nil {
		return err
	}
	if found.Plan == nil {
		view.Summary(e.stderr, "plan of "+r.Program.Name, found.Report, "")
		return outcome(found.Report)
	}
	if o.out == "-" {
		err = writePlanTo(e.stdout, found.Plan)
	} else {
		showPlan(e.stdout, r, found.Plan, o.verbose > 0)
		err = writePlan(e.stdout, o.out, found.Plan)
	}
	if err != nil {
		return err
	}
	return outcome(found.Report)
}

// looking shows progress on a terminal, and elsewhere only what goes wrong.
func (o planOptions) looking(w io.Writer, hosts []string) display {
	look := o.runOptions
	look.Check, look.Step = true, false
	return display{open: func() view.Renderer { return onlyTrouble{look.renderer(w, hosts), false} }}
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
	if err := writePrivate(path, []byte(b.String())); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	_, err := fmt.Fprintf(said, "written to %s; to do just that:\n  deployer apply %s\n", path, shellquote.Word(path))
	return err
}

func writePlanTo(w io.Writer, p *plan.Plan) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(p)
}

// showPlan shows a plan on one screen, or on all it takes.
func showPlan(w io.Writer, r *runs.Run, p *plan.Plan, all bool) {
	fmt.Fprintf(w, "plan of %s for %s\n", r.Program.Name, hostCount(len(p.Hosts)+len(p.LeftOut)))
	printLeftOut(w, p)
	if p.Empty() && len(p.LeftOut) > 0 {
		fmt.Fprintf(w, "nothing to do on the other %s\n", hostCount(len(p.Hosts)))
		return
	}
	if p.Empty() {
		fmt.Fprintln(w, "nothing to do: everything is as it should be")
		return
	}
	fmt.Fprintln(w)
	printChanges(w, p, true, all)
	fmt.Fprintf(w, "\n%d of %s would change: %s\n", len(changedHosts(p)), hostCount(len(p.Hosts)), counts(p))
	if out := leftOut(p); len(out) > 0 { // a long plan has scrolled the reasons away
		fmt.Fprintf(w, "left out, as said at the top: %s (%s)\n", inventory.CompressText(out), hostCount(len(out)))
	}
	if names := restarts(p); len(names) > 0 {
		fmt.Fprintf(w, "restarted: %s\n", strings.Join(names, ", "))
	}
	printDrained(w, p)
	if hosts := rebooted(p); len(hosts) > 0 {
		fmt.Fprintf(w, "rebooted: %s (%s)\n", inventory.CompressText(hosts), hostCount(len(hosts)))
	}
	for _, t := range p.Turns() {
		fmt.Fprintf(w, "in turns: %s, at most %s at a time, %s\n", strings.Join(t.Steps, ", "), hostCount(t.MaxParallel), counted(t.Turns, "turn"))
	}
	printDoubts(w, p)
	atOnce := r.Parallelism()
	if atOnce == 0 {
		atOnce = 50
	}
	if took, past, ok := runs.Estimate(p, atOnce); ok {
		by := fmt.Sprintf("%d past runs", past)
		if past == 1 {
			by = "the last run"
		}
		fmt.Fprintf(w, "expected time: about %s, by %s of this playbook\n", took, by)
	} else {
		fmt.Fprintln(w, "expected time: not known, no past run on this machine tells")
	}
}

// printLeftOut names the hosts that the plan is not for, those with the same
// reason together.
func printLeftOut(w io.Writer, p *plan.Plan) {
	why := map[string][]string{} // by the cause without the host
	var order []string
	for _, h := range leftOut(p) {
		cause := view.NormalizeHosts(h, p.LeftOut[h])
		if why[cause] == nil {
			order = append(order, cause)
		}
		why[cause] = append(why[cause], h)
	}
	for _, cause := range order {
		hosts := why[cause]
		fmt.Fprintf(w, "LEFT OUT  %s: %s\n", inventory.CompressText(hosts), strings.ReplaceAll(view.BesideHost(hosts[0], p.LeftOut[hosts[0]]), "\n", " "))
	}
}

// leftOut are the hosts that the plan is not for.
func leftOut(p *plan.Plan) []string {
	return slices.SortedFunc(maps.Keys(p.LeftOut), inventory.ByNumber)
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
		if h.UnboundedFrom != nil {
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
