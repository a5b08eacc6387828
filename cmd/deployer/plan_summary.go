package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"deployer/engine/plan"
	"deployer/engine/view"
	"deployer/inventory"
	"deployer/runs"
	"deployer/shortlist"
)

// showPlan prints a plan, shortened to about one screen unless all is set.
func showPlan(w io.Writer, r *runs.Run, p *plan.Plan, all bool, estimate estimator) {
	fmt.Fprintf(w, "plan of %s for %s\n", r.Program.Name, hostCount(len(p.Hosts)+len(p.LeftOut)))
	printLeftOut(w, p)
	if p.Empty() && len(p.LeftOut) > 0 {
		fmt.Fprintf(w, "nothing to do on the other %s\n", hostCount(len(p.Hosts)))
		return
	}
	if p.Empty() {
		fmt.Fprintln(w, "nothing to do: no host differs")
		return
	}
	fmt.Fprintln(w)
	printChanges(w, p, true, all)
	fmt.Fprintf(w, "\n%d of %s would change: %s\n", len(changedHosts(p)), hostCount(len(p.Hosts)), countEffects(p))
	if out := leftOutHosts(p); len(out) > 0 { // in a long plan the reasons have scrolled away
		fmt.Fprintf(w, "left out, for the reasons above: %s (%s)\n", inventory.CompressText(out), hostCount(len(out)))
	}
	if names := restartedUnits(p); len(names) > 0 {
		fmt.Fprintf(w, "restarted: %s\n", strings.Join(names, ", "))
	}
	printDrained(w, p)
	for _, c := range p.Changes {
		printBlockedPods(w, blockedPods(c.Effects))
	}
	if hosts := rebootedHosts(p); len(hosts) > 0 {
		fmt.Fprintf(w, "rebooted: %s (%s)\n", inventory.CompressText(hosts), hostCount(len(hosts)))
	}
	for _, t := range p.LimitedSteps() {
		fmt.Fprintf(w, "in turns: %s, at most %s at a time, %s\n", strings.Join(t.Steps, ", "), hostCount(t.MaxParallel), shortlist.Count(t.Turns, "turn"))
	}
	printUnknown(w, p)
	parallelism := r.Parallelism()
	if parallelism == 0 {
		parallelism = 50
	}
	if took, past, ok := estimate(p, parallelism); ok {
		by := fmt.Sprintf("%d past runs", past)
		if past == 1 {
			by = "the last run"
		}
		fmt.Fprintf(w, "expected time: about %s, by %s of this playbook\n", took, by)
	} else {
		fmt.Fprintln(w, "expected time: unknown, as neither this machine nor the hosts have the log of an earlier run")
	}
}

// printLeftOut prints the hosts that the plan excludes, one line for all hosts with the
// same reason.
func printLeftOut(w io.Writer, p *plan.Plan) {
	byCause := map[string][]string{} // the cause is without the host's name
	var order []string
	for _, h := range leftOutHosts(p) {
		cause := view.NormalizeHosts(h, p.LeftOut[h])
		if byCause[cause] == nil {
			order = append(order, cause)
		}
		byCause[cause] = append(byCause[cause], h)
	}
	for _, cause := range order {
		hosts := byCause[cause]
		fmt.Fprintf(w, "LEFT OUT  %s: %s\n", inventory.CompressText(hosts), strings.ReplaceAll(view.BesideHost(hosts[0], p.LeftOut[hosts[0]]), "\n", " "))
	}
}

// leftOutHosts returns the hosts that the plan excludes.
func leftOutHosts(p *plan.Plan) []string {
	return slices.SortedFunc(maps.Keys(p.LeftOut), inventory.ByNumber)
}

// printUnknown prints the number of steps whose effects are unknown, and of hosts on
// which later steps may have more effects.
func printUnknown(w io.Writer, p *plan.Plan) {
	unknown, unbounded := 0, 0
	for _, c := range p.Changes {
		if c.Unknown != "" {
			unknown++
		}
	}
	for _, h := range p.Hosts {
		if h.UnboundedFrom != nil {
			unbounded++
		}
	}
	if unknown > 0 {
		fmt.Fprintf(w, "unknown before the run: effects of %s, marked above\n", shortlist.Count(unknown, "step"))
	}
	if unbounded > 0 {
		fmt.Fprintf(w, "on %s later steps may have more effects, as they follow a command, a package, a started unit or an unknown step\n", hostCount(unbounded))
	}
}

// estimator returns the expected duration of a plan; see runs.Runner.Estimate.
type estimator = func(p *plan.Plan, parallelism int) (took time.Duration, runs int, ok bool)
