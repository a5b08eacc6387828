package keybackup

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"deployer/engine"
	"deployer/secrets"
	"deployer/tasks/control/actionctx"
)

// maxBackup is the maximum size of a file with keys in bytes; it has some ten kilobytes.
const maxBackup = 16 << 20

// Read is the action `key_backup_read`: it decrypts a file of `key_backup` on the
// controller, in memory. Its task must be secret.
//
// Output: files, by their paths on masters, as that of ca_read.
type Read struct {
	File     string `yaml:"file" required:"true" doc:"path on the controller"`
	Identity string `yaml:"identity" doc:"path of a file on the controller with identities of age, or of an SSH private key without a passphrase. Default: as for encrypted variables, DEPLOYER_AGE_KEY, DEPLOYER_AGE_IDENTITIES, ~/.config/deployer/age.txt, ~/.ssh/id_ed25519, ~/.ssh/id_rsa"`
}

// ReadOnly is true.
func (*Read) ReadOnly() bool { return true }

// Check decrypts. Check fails when the file cannot be opened, is not whole, or has the keys of
// a cluster with another name.
func (r *Read) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	data, err := readFile(r.File)
	if err != nil {
		return engine.Change{}, fmt.Errorf("reading the keys of the backup: %w", err)
	}
	if bytes.HasPrefix(data, []byte("# ")) { // the file of a host, with its first line
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	archive, err := r.identities().Open(filepath.Base(r.File), data)
	if err != nil {
		return engine.Change{}, err
	}
	files, about, err := unpack(archive, time.Now())
	if err != nil {
		return engine.Change{}, fmt.Errorf("reading the keys in %s: %w", r.File, err)
	}
	if about.Cluster != c.Name {
		return engine.Change{}, fmt.Errorf("%s has the keys of the cluster %s of %s, and the inventory is that of %s: take the file that was saved with the snapshot",
			r.File, about.Cluster, about.Created.Format(time.DateTime), c.Name)
	}
	contents := map[string]any{}
	for path, content := range files {
		contents[path] = string(content)
	}
	return engine.NoChange(engine.Output{"files": contents}), nil
}

// Apply is never called.
func (*Read) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (r *Read) identities() *secrets.Keys {
	if r.Identity != "" {
		return secrets.Files(r.Identity)
	}
	home, _ := os.UserHomeDir()
	return secrets.Environment(os.LookupEnv, home)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBackup+1))
	if err == nil && len(data) > maxBackup {
		err = fmt.Errorf("%s has more than %d MiB", path, maxBackup>>20)
	}
	return data, err
}
