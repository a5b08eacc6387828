package main

import (
	"errors"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/engine/lang/dialect"
	"deployer/operations"
)

func newExecCommand(e env) *cobra.Command {
	var o runOptions
	var module, args string
	cmd := &cobra.Command{
		Use:     "exec PATTERN [-- COMMAND [ARG...]]",
		GroupID: "playbooks",
		Short:   "Run one command, or one module, on many hosts",
		Long: `Exec runs a command on the hosts of a pattern and prints the output of each host;
equal outputs are printed once. A single word after -- is a shell command line, in
which pipes work; several words are a program and its arguments. With -m exec runs a
module instead.

A command starts at once, also while another run changes the host; a module waits
until the step in flight of that run has ended.

Failed and unreachable hosts do not stop the others. The exit code is 0 when all
hosts succeeded, 3 when some did, 1 when none did.`,
		Example: `  deployer exec minion -- uptime
  deployer exec 'web,!web3' -- 'df -h / | tail -1'
  deployer exec all -m package -a '{name: curl}' --check`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: firstArg(completePattern),
		RunE: func(cmd *cobra.Command, words []string) error {
			task, err := adHocTask(words[1:], module, args)
			if err != nil {
				return usageError(err)
			}
			return runExec(cmd, e, words[0], task, o)
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	promptFlags(cmd, &o.Prompt)
	outputFlag(cmd, &o.output, "text", "json")
	cmd.Flags().StringVarP(&module, "module", "m", "", "`name` of a module to run instead of a command")
	cmd.Flags().StringVarP(&args, "args", "a", "", "arguments of the module as a YAML `mapping`; {{ }} in its texts is evaluated")
	cmd.Flags().BoolVarP(&o.Check, "check", "C", false, "change nothing, show what would be changed")
	forksFlag(cmd, &o, "the inventory's, or 50")
	variablesFlag(cmd, &o, "for expressions in the arguments: NAME=VALUE, @FILE or {mapping}")
	return cmd
}

// adHocTask returns the task of exec.
func adHocTask(words []string, module, args string) (map[string]any, error) {
	switch {
	case module == "" && args != "":
		return nil, errors.New("-a has the arguments of a module, and no module is named; name it with -m")
	case module == "" && len(words) == 0:
		return nil, errors.New("no command: give a command after --, or a module with -m")
	case module != "" && len(words) > 0:
		return nil, errors.New("give either a command or a module with -m, not both")
	case module != "":
		given := map[string]any{}
		if args != "" {
			var err error
			if given, err = mapping("--args", []byte(args)); err != nil {
				return nil, err
			}
		}
		return map[string]any{"name": module, module: given}, nil
	case len(words) == 1:
		return map[string]any{"name": "shell", "shell": map[string]any{"cmd": dialect.Literal(words[0])}}, nil
	}
	argv := make([]string, len(words))
	for i, w := range words {
		argv[i] = dialect.Literal(w)
	}
	return map[string]any{"name": "command", "command": map[string]any{"argv": argv}}, nil
}

// runExec runs a task on the hosts of a pattern and prints their results.
func runExec(cmd *cobra.Command, e env, pattern string, task map[string]any, o runOptions) error {
	report, all, err := runTask(cmd, e, "exec", pattern, task, o)
	if err != nil {
		return err
	}
	if o.output == "json" {
		err = printJSON(e.stdout, all)
	} else {
		err = printExecResults(e.stdout, all)
	}
	if err != nil {
		return err
	}
	return perHostOutcome(report)
}

// runTask runs a task on the hosts of a pattern and returns the result of each host.
func runTask(cmd *cobra.Command, e env, verb, pattern string, task map[string]any, o runOptions) (*engine.Report, []execResult, error) {
	given, err := o.resolve()
	if err != nil {
		return nil, nil, err
	}
	given.Verb, given.Limit = verb, pattern
	r, err := newRunner(e).Task(task, given)
	if err != nil {
		return nil, nil, err
	}
	results := &execResults{}
	report, err := runWithDisplay(cmd.Context(), r, o.progressDisplay(e.stderr, r.Hosts).with(results), r.Do)
	if err != nil {
		return nil, nil, err
	}
	return report, results.inOrder(report), nil
}

// perHostOutcome returns the exit code of a run in which a failed host stops no other.
func perHostOutcome(report *engine.Report) error {
	if len(report.Broken()) == len(report.Hosts) && !allUnreachable(report) {
		return exitSilently(exitFailed)
	}
	return operations.Outcome(report)
}
