package main

import "github.com/spf13/cobra"

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
			o.Playbook = args[0]
			given, err := o.options()
			if err != nil {
				return err
			}
			r, err := newController(e).Playbook(given)
			if err != nil {
				return err
			}
			if list {
				return printProgram(e.stdout, r)
			}
			return carryOut(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	playFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVar(&list, "list", false, "print plays, hosts and tasks, and contact nobody")
	return cmd
}
