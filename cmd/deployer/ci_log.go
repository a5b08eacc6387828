package main

import (
	"errors"
	"fmt"
	"os"

	"deployer/ci/report"
)

// quoting calls do, whose output and error are no commands of the job's log. In such a job
// everything goes to standard output, messages and the error too, and the error before commands
// are allowed again: its text may be one of a host, and a job reads the two streams in no certain
// order. A person sees both in the log of the job.
func (o *ciOptions) quoting(e env, do func(env) error) error {
	if !detectCI(os.Getenv).Annotations {
		return do(e)
	}
	o.commands, e.stderr = &report.LogCommands{}, e.stdout
	fmt.Fprint(e.stdout, o.commands.Stop())
	defer func() { fmt.Fprint(e.stdout, o.commands.Allow()) }()
	return printQuoted(e, do(e))
}

// quotingErrors calls do, whose output has no commands and may be a file. Its error is no command of
// the job's log either.
func quotingErrors(e env, do func() error) error {
	err := do()
	if err == nil || !detectCI(os.Getenv).Annotations {
		return err
	}
	commands := &report.LogCommands{}
	fmt.Fprint(e.stderr, commands.Stop())
	defer func() { fmt.Fprint(e.stderr, commands.Allow()) }()
	return printQuoted(e, err)
}

// printQuoted prints an error, and returns one with the same exit code that prints nothing; nil for
// nil.
func printQuoted(e env, err error) error {
	if err == nil {
		return nil
	}
	var silent *exitError
	if !errors.As(err, &silent) || silent.err != nil {
		fmt.Fprintf(e.stderr, "deployer: %v\n", err)
	}
	return exitSilently(exitCode(err))
}
