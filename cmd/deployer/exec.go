package main

import (
	"errors"

	"github.com/spf13/cobra"

	"deployer/engine"
	"deployer/engine/lang"
)

func newExecCommand(e env) *cobra.Command {
	var o runOptions
	var module, args string
	cmd := &cobra.Command{
		Use:     "exec PATTERN [-- COMMAND [ARG...]]",
		GroupID: "playbooks",
		Short:   "Run one command, or one module, on many hosts",
		Long: `Exec runs a command on the hosts that a pattern names, and prints what they said;
hosts that said the same are printed once. A single word after -- is a line for
the shell, so that pipes work; more words are a program and its arguments. With
-m it carries out a module instead.

A command runs at once, as over ssh, also while a run works on the host; a module
waits until the run's step is done.

A host that fails or cannot be reached stops no other. The exit code is 0 when
all did it, 3 when some did, 1 when none did.`,
		Example: `  deployer exec minion -- uptime
  deployer exec 'web,!web3' -- 'df -h / | tail -1'
  deployer exec all -m package -a '{name: curl}' --check`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: ofFirst(completePattern),
		RunE: func(cmd *cobra.Command, words []string) error {
			task, err := adHoc(words[1:], module, args)
			if err != nil {
				return usageError(err)
			}
			return execute(cmd, e, words[0], task, o)
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	askFlags(cmd, &o.Prompt)
	outputFlag(cmd, &o.output, "text", "json")
	cmd.Flags().StringVarP(&module, "module", "m", "", "`name` of a module to carry out instead of a command")
	cmd.Flags().StringVarP(&args, "args", "a", "", "the module's arguments as a YAML `mapping`; templates are rendered")
	cmd.Flags().BoolVarP(&o.Check, "check", "C", false, "change nothing, show what would be changed")
	forksFlag(cmd, &o, "the inventory's, or 50")
	variablesFlag(cmd, &o, "for the templates: NAME=VALUE, @FILE or {mapping}")
	return cmd
}

// adHoc makes the one task of exec.
func adHoc(words []string, module, args string) (map[string]any, error) {
	switch {
	case module == "" && args != "":
		return nil, errors.New("-a gives the arguments of a module; name it with -m")
	case module == "" && len(words) == 0:
		return nil, errors.New("nothing to do: give a command after --, or a module with -m")
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
		return map[string]any{"name": "shell", "shell": map[string]any{"cmd": lang.Literal(words[0])}}, nil
	}
	argv := make([]string, len(words))
	for i, w := range words {
		argv[i] = lang.Literal(w)
	}
	return map[string]any{"name": "command", "command": map[string]any{"argv": argv}}, nil
}

// execute runs the task on the hosts of the pattern and prints what they said.
func execute(cmd *cobra.Command, e env, pattern string, task map[string]any, o runOptions) error {
	report, all, err := ask(cmd, e, "exec", pattern, task, o)
	if err != nil {
		return err
	}
	if o.output == "json" {
		err = printJSON(e.stdout, all)
	} else {
		err = printAnswers(e.stdout, all)
	}
	if err != nil {
		return err
	}
	return allOrSome(report)
}

// ask carries one task out on the hosts of a pattern, and returns what each said.
func ask(cmd *cobra.Command, e env, verb, pattern string, task map[string]any, o runOptions) (*engine.Report, []answer, error) {
	given, err := o.options()
	if err != nil {
		return nil, nil, err
	}
	given.Verb, given.Limit = verb, pattern
	r, err := newController(e).Task(task, given)
	if err != nil {
		return nil, nil, err
	}
	said := &answers{}
	report, err := watched(cmd.Context(), r, o.answering(e.stderr, r.Hosts).with(said), r.Do)
	if err != nil {
		return nil, nil, err
	}
	return report, said.of(report), nil
}

// allOrSome chooses the exit code of what each host does for itself.
func allOrSome(report *engine.Report) error {
	if len(report.Broken()) == len(report.Hosts) && !allUnreachable(report) {
		return silent(exitFailed)
	}
	return outcome(report)
}
