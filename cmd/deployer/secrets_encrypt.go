package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"deployer/secrets"
	"deployer/shortlist"
)

func newSecretsEncrypt(e env) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "encrypt FILE",
		Short: "Encrypt FILE to FILE.age, and remove FILE",
		Long: `Encrypt encrypts a file to FILE.age, or to the file of -o, and removes it. With - it
encrypts standard input, so that the plaintext is never stored in a file:
  sops -d vars.yaml | deployer secrets encrypt - -o vars.yaml.age
  ansible-vault view vars.yaml | deployer secrets encrypt - -o vars.yaml.age`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if args[0] == "-" {
				return encryptInput(e, out)
			}
			return encryptFile(e, args[0], out)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "encrypted `file` to write, whose name ends in .age (default: FILE.age)")
	return cmd
}

func encryptFile(e env, file, sealed string) error {
	if strings.HasSuffix(file, secrets.Suffix) {
		return usageError(fmt.Errorf("%s is encrypted already", file))
	}
	if sealed == "" {
		sealed = file + secrets.Suffix
	}
	to, err := recipientsFor(sealed)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return usageError(err)
	}
	if err := encryptTo(sealed, content, to); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "%s replaces %s, readable with %s of %s; copies of the old file in git or backups remain\n",
		sealed, file, shortlist.Count(len(to), "key"), secrets.RecipientsFile)
	return nil
}

func encryptInput(e env, sealed string) error {
	if sealed == "" {
		return usageError(errors.New("name the encrypted file with -o FILE.age"))
	}
	to, err := recipientsFor(sealed)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(e.stdin)
	if err != nil {
		return err
	}
	if len(content) == 0 {
		return usageError(errors.New("standard input is empty; the command before the pipe has probably failed"))
	}
	if err := encryptTo(sealed, content, to); err != nil {
		return err
	}
	fmt.Fprintf(e.stderr, "%s is readable with %s of %s\n", sealed, shortlist.Count(len(to), "key"), secrets.RecipientsFile)
	return nil
}

// recipientsFor returns the recipients of a new encrypted file, which must not exist.
func recipientsFor(sealed string) ([]age.Recipient, error) {
	if !strings.HasSuffix(sealed, secrets.Suffix) {
		return nil, usageError(fmt.Errorf("%s: the names of encrypted files end in %s", sealed, secrets.Suffix))
	}
	if _, err := os.Lstat(sealed); err == nil {
		return nil, usageError(fmt.Errorf("%s exists: use deployer secrets edit, or remove it", sealed))
	}
	to, err := secrets.Recipients(filepath.Dir(sealed))
	if err != nil {
		return nil, usageError(err)
	}
	return to, nil
}

func encryptTo(file string, content []byte, to []age.Recipient) error {
	sealed, err := secrets.Seal(content, to)
	if err != nil {
		return fmt.Errorf("encrypting %s: %w", file, err)
	}
	return renameio.WriteFile(file, sealed, 0o644)
}
