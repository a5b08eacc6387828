package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
)

func newInstallCommand(e env) *cobra.Command {
	var o runOptions
	var newKey bool
	var bundle, bundleKey string
	cmd := &cobra.Command{
		Use:     "install",
		GroupID: "cluster",
		Short:   "Install the cluster of the inventory, or repair its differences",
		Long: `Install turns hosts with an operating system and sshd into a healthy cluster. It
checks all hosts before it changes any. Run it again at any time, also after an
interrupt or a kill: it changes only what differs, masters and etcd members one by one;
each must be healthy before the next.

An interrupt (Ctrl-C) ends the run after the steps in flight; a second one ends it at
once.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			given.Extra = map[string]any{"new_encryption_key": newKey}
			if bundleKey != "" && bundle == "" {
				return usageError(errors.New("--bundle-key is for a bundle: give --bundle too"))
			}
			runner := newRunner(e)
			runner.Bundle, runner.BundleKey = bundle, bundleKey
			r, err := runner.Install(given)
			if err != nil {
				return err
			}
			if err := execute(cmd.Context(), e, r, o); err != nil {
				return err
			}
			if bundle != "" && r.Project.Source == "" && !o.Check {
				return printBundleHint(e, bundle, o.Inventory)
			}
			return nil
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVar(&newKey, "new-encryption-key", false, "create a new encryption key when every master has lost /etc/kubernetes/encryption.yaml; Secrets encrypted with the lost key become unreadable")
	cmd.Flags().StringVar(&bundle, "bundle", "", "take all artifacts from this file of deployer images bundle instead of the inventory's source")
	cmd.Flags().StringVar(&bundleKey, "bundle-key", "", "minisign public key that must have signed the bundle (signature: bundle's name with .minisig)")
	cmd.Flags().BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	return cmd
}

// printBundleHint says how other commands find the artifacts of a bundle.
func printBundleHint(e env, bundle, inventory string) error {
	path, err := filepath.Abs(bundle)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "other commands download artifacts unless %s names the bundle:\nartifacts: {source: %s}\n", inventory, path)
	return nil
}
