package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"deployer/engine/view"
)

func newRunCommand(e env) *cobra.Command {
	var o runOptions
	var list bool
	cmd := &cobra.Command{
		Use:     "run PLAYBOOK",
		GroupID: "playbooks",
		Short:   "Carry out a playbook of your own",
		Long: `Run carries out a playbook on the hosts of the inventory. Everything that can be
wrong without looking at a host is found before any is contacted. Roles are
looked for in roles/ beside the playbook, beside its directory and beside the
inventory, and among deployer's own. Other files are named as seen from the
playbook, ../shared/base.yaml too.

Run it again at any time: what is as wanted is not touched.`,
		Example: `  deployer run site.yaml -i inventory.yaml --check --diff
  deployer run site.yaml --limit 'web,!web3' --tags config -e release=1.10`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			x, err := userExecution(e, args[0], o)
			if err != nil {
				return err
			}
			if list {
				return printProgram(e.stdout, x)
			}
			report, err := x.run(cmd.Context())
			if err != nil {
				return err
			}
			return x.finish(report)
		},
	}
	runFlags(cmd, &o)
	playFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVar(&list, "list", false, "print plays, hosts and tasks, and contact nobody")
	return cmd
}

// playFlags are the flags of verbs that carry out playbooks of the user's own.
func playFlags(cmd *cobra.Command, o *runOptions) {
	f := cmd.Flags()
	f.BoolVarP(&o.check, "check", "C", false, "change nothing, show what would be changed")
	f.BoolVarP(&o.diff, "diff", "D", false, "show how files differ")
	selectFlags(cmd, o)
}

// selectFlags say what of a playbook is carried out, and with which variables.
func selectFlags(cmd *cobra.Command, o *runOptions) {
	f := cmd.Flags()
	f.StringVarP(&o.limit, "limit", "l", "", "only these hosts, as a `pattern`")
	f.StringSliceVarP(&o.tags, "tags", "t", nil, "only tasks with one of these tags")
	f.StringSliceVar(&o.skipTags, "skip-tags", nil, "no tasks with one of these tags")
	f.StringVar(&o.startAt, "start-at", "", "leave out what comes before the task of this `name`")
	f.BoolVar(&o.step, "step", false, "ask before each task; hosts then go through the tasks together")
	f.StringArrayVarP(&o.extraVars, "extra-vars", "e", nil, "`variables` that win over all others: NAME=VALUE, @FILE or {mapping}; may be given again")
}

// userExecution makes ready a run of a playbook of the user's own.
func userExecution(e env, file string, o runOptions) (*execution, error) {
	p, err := loadAny(o.inventory, filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	b, err := p.Book(file)
	if err != nil {
		return nil, err
	}
	x, err := newExecution(e, p, b, o)
	if err != nil {
		return nil, err
	}
	x.journal, x.locks, x.call = true, true, callOf("run", file, o)
	x.again = strings.Join(append([]string{"deployer run", shellWord(file)}, o.words()...), " ")
	return x, nil
}

// words are the options as they were typed, for the command that goes on.
func (o runOptions) words() []string {
	out := append([]string{"-i", shellWord(o.inventory)}, askWords(o.ask)...)
	add := func(flag, value string) {
		if value != "" {
			out = append(out, flag, shellWord(value))
		}
	}
	add("--limit", o.limit)
	add("--tags", strings.Join(o.tags, ","))
	add("--skip-tags", strings.Join(o.skipTags, ","))
	add("--start-at", o.startAt)
	for _, v := range o.extraVars {
		add("-e", v)
	}
	return out
}

// shellWord quotes text for a shell, when it needs that.
func shellWord(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// viewOptions say how much a run shows.
func (o runOptions) viewOptions(hosts []string) view.Options {
	return view.Options{Verbose: o.verbose, Check: o.check, Diff: o.diff, Hosts: hosts}
}
