package main

import (
	"github.com/spf13/cobra"

	"deployer/engine/lang"
)

func newRunCommand(e env) *cobra.Command {
	var o runOptions
	var list bool
	cmd := &cobra.Command{
		Use:     "run PLAYBOOK",
		GroupID: "playbooks",
		Short:   "Run a playbook",
		Long: `Run executes a playbook on the hosts of the inventory. It reports errors in files
and variables before it contacts a host. It searches roles in roles/ beside the
playbook, beside its directory and beside the inventory, and then among the built-in
roles. Paths of other files are relative to the playbook, such as ../shared/base.yaml.

Run it again at any time: it changes only what differs.`,
		Example: `  deployer run site.yaml -i inventory.yaml --check --diff
  deployer run site.yaml --limit 'web,!web3' --tags config -e release=1.10`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Playbook = args[0]
			given, err := o.resolve()
			if err != nil {
				return err
			}
			runner := newRunner(e)
			if list {
				runner.Lookups = lang.UnknownLookups()
			}
			r, err := runner.Playbook(given)
			if err != nil {
				return err
			}
			if list {
				return printProgram(e, r)
			}
			return execute(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	playFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVar(&list, "list", false, "print plays, hosts and tasks, and contact no host")
	return cmd
}
