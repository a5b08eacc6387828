package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"deployer/secrets"
)

// keyRecipients are the flags of a backup that say for whom the keys of the cluster are
// encrypted.
type keyRecipients struct {
	withKeys   bool
	recipients []string
	files      []string
}

func (k *keyRecipients) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&k.withKeys, "with-keys", false, "save the keys of the cluster beside the snapshot (default: true when there are recipients)")
	f.StringArrayVar(&k.recipients, "recipient", nil, "public `key` of age or SSH that can decrypt the keys; may be repeated (default: cluster.etcd.backup.recipients)")
	f.StringArrayVar(&k.files, "recipients-file", nil, "`file` with public keys, one per line; may be repeated")
}

// list returns the recipients: those of the flags, otherwise those of the inventory. The
// list is empty for a backup without keys.
func (k *keyRecipients) list(cmd *cobra.Command, inventory []string) ([]any, error) {
	lines := k.recipients
	for _, file := range k.files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, usageError(fmt.Errorf("--recipients-file: %w", err))
		}
		if _, err := secrets.ParseRecipients(file, string(text)); err != nil {
			return nil, usageError(fmt.Errorf("--recipients-file: %w", err))
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
	}
	chosen := cmd.Flags().Changed("with-keys")
	if chosen && !k.withKeys {
		if len(lines) > 0 {
			return nil, usageError(errors.New("--with-keys=false and recipients exclude each other"))
		}
		return []any{}, nil
	}
	if len(lines) == 0 {
		lines = inventory
	}
	if len(lines) == 0 && chosen {
		return nil, usageError(errors.New("--with-keys: name who can open the keys, with --recipient, --recipients-file or cluster.etcd.backup.recipients in the inventory; deployer secrets keygen makes a key"))
	}
	out := []any{}
	for _, line := range lines {
		if _, err := secrets.ParseRecipients("--recipient", line); err != nil {
			return nil, usageError(err)
		}
		out = append(out, line)
	}
	return out, nil
}

// print prints whether the keys are beside a snapshot, which is HOST:PATH or empty.
func (k *keyRecipients) print(w io.Writer, snapshot string, with bool) {
	switch {
	case snapshot == "":
	case with:
		fmt.Fprintf(w, "keys of the cluster: %s.keys.age\n", strings.TrimSuffix(snapshot, ".db"))
	default:
		fmt.Fprintln(w, "without the keys of the cluster: the snapshot is of use while a master is left; --recipient adds the keys, encrypted")
	}
}
