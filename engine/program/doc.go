// Package program holds compiled playbooks: a [Program] is one list of operations that
// the scheduler takes every host through. Package compile makes programs from YAML,
// schedule runs them, revert turns one into its inverse, and runs stores what a plan
// or a resumed run needs of them. No package that only reads programs reads YAML.
//
// A [Program] has plays, tasks and blocks with their conditions, loops, throttles and
// sync points. A value that differs between hosts is an expression, a text or a value of
// package lang; methods such as [Task.Applies], [Task.Items] and [Task.BuildArgs] evaluate
// it with the variables of one host. A program does not change while it runs and may be
// read by any number of goroutines; the variables belong to one host each.
package program
