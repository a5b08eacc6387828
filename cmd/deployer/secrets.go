package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"deployer/secrets"
)

// userKeys returns the age keys of the user who runs deployer.
var userKeys = sync.OnceValue(func() *secrets.Keys {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	return secrets.Environment(os.LookupEnv, home)
})

func newSecretsCommand(e env) *cobra.Command {
	return group(&cobra.Command{
		Use:     "secrets",
		GroupID: "input",
		Short:   "Encrypt, read and edit files of variables (age)",
		Long: `Secrets works on files that are encrypted with age (https://age-encryption.org),
such as group_vars/all.yaml.age beside an inventory. The nearest file .age-recipients
in the directory of a file or above it lists the public keys that can decrypt the
file. Your own key is read from $DEPLOYER_AGE_KEY, the files of
$DEPLOYER_AGE_IDENTITIES, ~/.config/deployer/age.txt, and ~/.ssh/id_ed25519 and
id_rsa without a passphrase.`,
	}, newSecretsKeygen(e), newSecretsEncrypt(e), newSecretsDecrypt(e), newSecretsEdit(e))
}

func newSecretsKeygen(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "keygen",
		Short: "Generate your key and print its public part, for .age-recipients",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			home, err := os.UserHomeDir()
			if err != nil {
				return err
			}
			file := secrets.DefaultFiles(home)[0]
			content, public, err := secrets.Generate()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				return err
			}
			out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if errors.Is(err, os.ErrExist) {
				return usageError(fmt.Errorf("%s exists already; files encrypted for its key would become unreadable without it", file))
			}
			if err != nil {
				return err
			}
			_, err = out.WriteString(content)
			if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
				return err
			}
			fmt.Fprintf(e.stderr, "the key is in %s: store a copy of it with your passwords\n", file)
			_, err = fmt.Fprintln(e.stdout, public)
			return err
		},
	}
}
