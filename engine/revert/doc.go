// Package revert compiles a program into its inverse: the program that restores what
// a run of the first one has changed. The package contacts no host. The input is what the
// hosts know of the run; the scheduler executes the output like any other program.
//
// # The inverse program
//
// Plays come in reverse order, with the same hosts, batches and budgets. In each
// play, and in each block in which hosts take turns, the steps are restored from the
// last to the first; then follow, in their original order, the steps that needed
// their files first (units that start), the gates of the section, which are tasks
// that wait or that make a service follow its files (engine.ReadinessGate), and the handlers
// of restored steps. So hosts are reverted one by one, each held until it serves
// again. Barriers keep their places, and steps that needed a label are reverted
// before those behind the label.
//
// A step of the inverse reads from the records of its host what it has to restore, so it
// needs neither the items of a loop nor the conditions of the run. Changes of tasks that the
// program no longer has, because it was edited since, are restored at the end, on one host at
// a time.
//
// # What is left out
//
// Gates and handlers of a section are left out on hosts where the run had installed
// a package, created or started a unit, or created only new things: nothing is left
// to wait for. So are those that use a variable that only a step of the run could
// register; read-only tasks (engine.ReadOnlyTask) are executed again before the inverse,
// if something needs their variables. A throttle that cannot be computed is 1.
package revert
