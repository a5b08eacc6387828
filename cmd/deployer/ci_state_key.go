package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"deployer/ci/pipeline"
	"deployer/ci/repository"
	"deployer/project"
)

func newCIStateKeygen(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "keygen",
		Short: "Print a new key, for a secret of the CI system",
		Long: `Keygen prints a new key for $DEPLOYER_CI_STATE_KEY or the file of
$DEPLOYER_CI_STATE_KEY_FILE, and its public key on standard error. A key is one line. Of
several lines the first one signs, and all are accepted: to replace a key, put the new
one before it, sign with ` + "`deployer ci state sign`" + `, and remove the former one.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			line, public := repository.NewKey()
			fmt.Fprintln(e.stdout, line)
			fmt.Fprintln(e.stderr, "public key:", public)
			return nil
		},
	}
}

func newCIStatePublicKey(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "public-key",
		Short: "Print the public keys of this machine, for the hooks of a repository",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			keys, err := repository.OpenKeys(os.Getenv)
			if err != nil {
				return project.AsUserError(err)
			}
			public, err := keys.Ensure()
			if err != nil {
				return project.AsUserError(err)
			}
			for _, key := range public {
				fmt.Fprintln(e.stdout, key)
			}
			return nil
		},
	}
}

func newCIStateRotate(e env) *cobra.Command {
	var o ciOptions
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Replace the key, and sign the states of the repository with the new one",
		Long: `Rotate creates a new key, signs every state with it that counts, and removes the
former key. Other runners need the new key, and hooks of the repository its public key
(deployer ci state public-key). When several repositories share the key, rotate with
--keep in each of them, and without it in the last one: the new key stays the same until
the former one is removed.`,
		Args: cobra.NoArgs,
	}
	var keep bool
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return o.withStates(cmd.Context(), e, func(p *pipeline.Pipeline, all []repository.Review) error {
			for _, r := range all {
				if r.Problem != nil {
					return project.AsUserError(fmt.Errorf("%w; decide about it first, with `deployer ci state sign` or `deployer ci state restore`", r.Problem))
				}
			}
			keys, err := p.Keys.Public()
			if err == nil && len(keys) < 2 { // more keys are those of a rotation that has begun
				err = p.Keys.Add()
			}
			if err != nil {
				return project.AsUserError(err)
			}
			if err := signStates(cmd.Context(), e, p, all); err != nil {
				return err
			}
			if !keep {
				return p.Keys.Forget()
			}
			return nil
		})
	}
	o.stateFlags(cmd)
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the former keys, whose states count until you rotate without this flag")
	return cmd
}
