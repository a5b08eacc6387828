package main

import "github.com/spf13/cobra"

func newInstallCommand(e env) *cobra.Command {
	var o runOptions
	var newKey bool
	cmd := &cobra.Command{
		Use:     "install",
		GroupID: "cluster",
		Short:   "Make the hosts of the inventory a healthy cluster, or repair what differs",
		Long: `Install takes hosts with an operating system and sshd to a healthy cluster. All
hosts are checked before any is changed. Run it again at any time, also after it
was interrupted or killed: it changes only what differs, masters and etcd
members one by one, each gated on its health.

An interrupt (Ctrl-C) ends it after the steps in flight; a second one at once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given, err := o.options()
			if err != nil {
				return err
			}
			given.Extra = map[string]any{"new_encryption_key": newKey}
			r, err := newController(e).Install(given)
			if err != nil {
				return err
			}
			return carryOut(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVar(&newKey, "new-encryption-key", false, "make a new encryption key when every master has lost /etc/kubernetes/encryption.yaml; Secrets encrypted with the lost key cannot be read then")
	cmd.Flags().BoolVar(&o.Check, "check", false, "change nothing, show what would be changed")
	return cmd
}
