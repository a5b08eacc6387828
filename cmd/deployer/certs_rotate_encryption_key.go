package main

import (
	"time"

	"github.com/spf13/cobra"

	"deployer/cluster/encryption"
)

func newCertsRotateEncryptionKey(e env) *cobra.Command {
	var o runOptions
	var again bool
	cmd := &cobra.Command{
		Use:   "rotate-encryption-key",
		Short: "Replace the key with which Secrets are encrypted in etcd",
		Long: `Rotate-encryption-key replaces the key with which the API servers encrypt Secrets
in etcd. First every API server gets the new key, then every one encrypts with it, then
all Secrets are written again, and when etcd holds none with the former key, the former
key is dropped. The API servers change one by one, and every Secret is readable through
each of them all the time.

The files on the masters show the phase of a rotation: the same command continues an
interrupted one, from any machine, and so does deployer resume. All masters must be
reachable.

Snapshots of etcd from before the rotation need the former key. Save a copy of
/etc/kubernetes/encryption.yaml with them.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			given.Extra = map[string]any{"encryption_key_name": encryption.KeyName(time.Now())}
			if again {
				given.Extra["encryption_key_min_age"] = "0s"
			}
			r, err := newRunner(e).RotateEncryptionKey(given)
			if err != nil {
				return err
			}
			return execute(cmd.Context(), e, r, o)
		},
	}
	runFlags(cmd, &o)
	lockFlags(cmd, &o)
	cmd.Flags().BoolVar(&again, "again", false, "make another key even if the last rotation is less than a day old")
	cmd.Flags().BoolVar(&o.Check, "check", false, "change nothing, show what would change")
	return cmd
}
