package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"deployer/internal/tempdir"
	"deployer/secrets"
)

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
	dir, err := tempdir.New(parent, "deployer-edit-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Remove() }()
	file := filepath.Join(dir.Path, name)
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
