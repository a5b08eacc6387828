package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"filippo.io/age"
	"github.com/google/renameio/v2"
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
		sealed, file, plural(len(to), "key"), secrets.RecipientsFile)
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
	fmt.Fprintf(e.stderr, "%s is readable with %s of %s\n", sealed, plural(len(to), "key"), secrets.RecipientsFile)
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

func newSecretsDecrypt(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "decrypt FILE.age",
		Short: "Print the content of an encrypted file",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			content, err := decryptFile(args[0])
			if err != nil {
				return err
			}
			_, err = e.stdout.Write(content)
			return err
		},
	}
}

func decryptFile(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usageError(err)
	}
	content, err := userKeys().Open(file, data)
	if err != nil {
		return nil, usageError(err)
	}
	return content, nil
}

func newSecretsEdit(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "edit FILE.age",
		Short: "Edit an encrypted file, or a new one, in $EDITOR",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := args[0]
			if !strings.HasSuffix(file, secrets.Suffix) {
				return usageError(fmt.Errorf("the names of encrypted files end in %s; %s does not", secrets.Suffix, file))
			}
			to, err := secrets.Recipients(filepath.Dir(file))
			if err != nil {
				return usageError(err)
			}
			before, err := decryptFile(file)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			after, err := editContent(cmd, e, filepath.Base(strings.TrimSuffix(file, secrets.Suffix)), before)
			if err != nil {
				return err
			}
			if bytes.Equal(before, after) {
				fmt.Fprintf(e.stderr, "%s is unchanged\n", file)
				return nil
			}
			return encryptTo(file, after, to)
		},
	}
}

// editContent opens the user's editor on content, in a temporary file with mode 0600,
// below /dev/shm if the system has it, and returns the edited content.
func editContent(cmd *cobra.Command, e env, name string, content []byte) ([]byte, error) {
	editor := os.Getenv("EDITOR")
	if editor == "" {
		editor = "vi"
	}
	parent := "/dev/shm"
	if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		parent = ""
	}
	dir, err := os.MkdirTemp(parent, "deployer-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return nil, err
	}
	c := exec.CommandContext(cmd.Context(), "sh", "-c", editor+` "$1"`, "sh", file)
	c.Stdin, c.Stdout, c.Stderr = e.stdin, e.stdout, e.stderr
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("nothing was changed: the editor %s failed: %w", editor, err)
	}
	return os.ReadFile(file)
}
