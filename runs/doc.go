// Package runs puts a run together and carries it out, as it does for every verb
// of the command line: a project and a playbook, the ways to the hosts, the
// services that actions use, the lock, the log, the budget, and no secrets in
// anything that is said. It plans, applies, resumes and reverts.
//
// It has no terminal: it prints nothing, asks nobody but the [reach.Asker] that it
// is given, and takes interrupts from a channel. So a service that keeps a cluster
// as its inventory says runs the same thing as somebody who types a command:
//
//	c := runs.Controller{Options: project.Options{Open: keys.Open, Agents: agents}, Version: version}
//	r, err := c.Install(runs.Options{Call: journal.Call{Inventory: "inventory.yaml"}})
//	report, err := r.Do(ctx, runs.Watch{Sink: events, Interrupt: stop})
//
// An error is a [*project.Mistake] when what was asked for cannot be, a [*Refusal]
// or [*DriftError] when it can be and must not now, and nothing was changed. How
// the run went on the hosts is no error, but in the report.
package runs
