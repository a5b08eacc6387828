package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/engine/playbook"
	"deployer/engine/view"
	"deployer/project"
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
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, words []string) error {
			task, err := adHoc(words[1:], module, args)
			if err != nil {
				return usageError(err)
			}
			return execute(cmd, e, words[0], task, o)
		},
	}
	inventoryFlag(cmd, &o.inventory)
	askFlags(cmd, &o.ask)
	outputFlag(cmd, &o.output, "text", "json")
	cmd.Flags().StringVarP(&module, "module", "m", "", "`name` of a module to carry out instead of a command")
	cmd.Flags().StringVarP(&args, "args", "a", "", "the module's arguments as a YAML `mapping`; templates are rendered")
	cmd.Flags().BoolVarP(&o.check, "check", "C", false, "change nothing, show what would be changed")
	cmd.Flags().IntVar(&o.forks, "forks", 0, "most hosts that are worked on at once (default: the inventory's, or 50)")
	cmd.Flags().StringArrayVarP(&o.extraVars, "extra-vars", "e", nil, "`variables` for the templates: NAME=VALUE, @FILE or {mapping}; may be given again")
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
		return map[string]any{"name": "shell", "shell": map[string]any{"cmd": literal(words[0])}}, nil
	}
	argv := make([]string, len(words))
	for i, w := range words {
		argv[i] = literal(w)
	}
	return map[string]any{"name": "command", "command": map[string]any{"argv": argv}}, nil
}

// literal keeps braces that are meant for the command from being a template.
func literal(s string) string { return strings.ReplaceAll(s, "{{", `{{ "{{" }}`) }

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
	p, err := loadAny(o.inventory, "")
	if err != nil {
		return nil, nil, err
	}
	text, err := yaml.Marshal([]any{map[string]any{"name": verb, "hosts": "all", "tasks": []any{task}}})
	if err != nil {
		return nil, nil, err
	}
	o.limit = pattern
	x, err := newExecution(env{e.stdin, e.stderr, e.stderr}, p, project.TextBook(text, verb), o)
	if err != nil {
		return nil, nil, err
	}
	answers := &answers{}
	x.journal, x.results, x.budget = verb == "exec", answers, everyHostMayFail()
	x.beside = verb == "facts" || task["command"] != nil || task["shell"] != nil
	x.call = callOf(verb, "", o)
	x.show = answering(e.stderr, x)
	report, err := x.run(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	return report, answers.of(report), nil
}

// allOrSome chooses the exit code of what each host does for itself.
func allOrSome(report *engine.Report) error {
	if len(report.Broken()) == len(report.Hosts) && !allUnreachable(report) {
		return silent(exitFailed)
	}
	return outcome(report)
}

// everyHostMayFail is the budget of what concerns each host for itself.
func everyHostMayFail() map[string]playbook.Limit {
	all := playbook.Limit{Percent: 100, Share: true}
	return map[string]playbook.Limit{"master": all, "etcd": all}
}

// answering shows progress on a terminal, and nothing elsewhere: the answers are
// what counts.
func answering(w io.Writer, x *execution) view.Renderer {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return x.renderer()
	}
	return silence{}
}

// silence is a renderer that shows nothing.
type silence struct{ nowhere }

func (silence) Close() {}
