// Package runs prepares and executes runs. Every verb of the command line uses it to
// plan, apply, resume and revert: it combines a project and a playbook, the
// connections to the hosts, the services of actions, the run lock, the log, the
// failure budget, and the redaction of secrets in all output.
//
// The package has no terminal. The package prints nothing, prompts only through the
// [target.Prompter] of its caller, and takes interrupts from a channel, so a service
// that keeps a cluster as its inventory describes uses the same code as a person who
// types a command:
//
//	c := runs.Runner{Options: project.Options{Open: keys.Open, Agents: agents}, Version: version}
//	r, err := c.Install(runs.Options{Invocation: journal.Invocation{Inventory: "inventory.yaml"}})
//	report, err := r.Do(ctx, runs.Observer{Sink: events, Interrupt: stop})
//
// Each verb has a file of its own (apply.go, scale.go, rollback.go and the like), beside
// the files that prepare, execute and record every run. All files share the types Runner and Run,
// so they are one package; the rules that need neither are in packages of their own.
//
// An error is a [*project.UserError] when the user's input is wrong, and a
// [*RefusedError] or [*DriftError] when the input is right but the run must not start
// now; in each case no host was changed. Failures on hosts are no errors of these
// functions: the report has them.
package runs
