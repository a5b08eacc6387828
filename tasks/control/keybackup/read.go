package keybackup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"deployer/engine"
	"deployer/secrets"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/keyring"
)

// maxBackup is the maximum size of a file with keys in bytes; it has some ten kilobytes.
const maxBackup = 16 << 20

// Read is the action `key_backup_read`: it decrypts a file of `key_backup` on the
// controller, in memory. Its task must be secret.
//
// age authenticates nobody: whoever knows the recipients can encrypt keys to them. So the
// fingerprint of the inventory (cluster.etcd.backup.fingerprint) is compared.
//
// Output: files, by their paths on masters, as that of ca_read.
type Read struct {
	Stored          bool `yaml:"stored" doc:"the file comes from an object store, which could present keys of its own: the inventory must have the fingerprint of the cluster's; default false"`
	Unauthenticated bool `yaml:"unauthenticated" doc:"accept keys with another fingerprint than that of the inventory, and stored ones without; default false"`

	SHA256   string `yaml:"sha256" rule:"sha256" doc:"SHA-256 of the file in hex, which it must have; default: any"`
	File     string `yaml:"file" rule:"line" required:"true" doc:"path on the controller"`
	Identity string `yaml:"identity" rule:"line" doc:"path of a file on the controller with identities of age, or of an SSH private key without a passphrase. Default: as for encrypted variables, DEPLOYER_AGE_KEY, DEPLOYER_AGE_IDENTITIES, ~/.config/deployer/age.txt, ~/.ssh/id_ed25519, ~/.ssh/id_rsa"`
}

// ReadOnly is true.
func (*Read) ReadOnly() bool { return true }

// Check decrypts. Check fails when the file cannot be opened, is not whole, or has the keys of
// another cluster.
func (r *Read) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	files, sum, err := open(r.File, r.Identity, c.Name)
	if err != nil {
		return engine.Change{}, err
	}
	if r.SHA256 != "" && r.SHA256 != sum {
		return engine.Change{}, fmt.Errorf("%s is another file than the one with which the restore began: its SHA-256 is %s, and was %s. "+
			"Put the former file back and continue with deployer resume, or begin another restore", r.File, sum, r.SHA256)
	}
	if err := r.authenticate(files, c.Etcd.Backup.Fingerprint); err != nil {
		return engine.Change{}, err
	}
	contents := map[string]any{}
	for path, content := range files {
		contents[path] = string(content)
	}
	return engine.NoChange(engine.Output{"files": contents}), nil
}

// authenticate compares the keys with the fingerprint of the inventory, which may be empty.
func (r *Read) authenticate(files keyring.Files, want string) error {
	key, err := keyring.BackupKeyOf(files)
	if err != nil {
		return fmt.Errorf("reading the keys in %s: %w", r.File, err)
	}
	got := key.Fingerprint()
	switch {
	case r.Unauthenticated || got == want || want == "" && !r.Stored:
		return nil
	case want == "":
		return fmt.Errorf("nothing says that the keys in %s are the cluster's: whoever can write to the object store can encrypt other keys to you, with a snapshot to match. "+
			"Compare their fingerprint %s with what deployer etcd backup has printed, then write it into the inventory as cluster.etcd.backup.fingerprint; "+
			"or take a copy of the keys from elsewhere, or use --unauthenticated", r.File, got)
	}
	return fmt.Errorf("the keys in %s have the fingerprint %s, and cluster.etcd.backup.fingerprint of the inventory is %s: they are of another cluster, or forged. "+
		"Take the keys of the cluster, or use --unauthenticated", r.File, got, want)
}

// Open returns the keys in a file of Save, by their paths on masters. identity is the path of a
// file with identities of age, or empty for the usual ones. Open fails for the keys of a
// cluster with another name.
func Open(path, identity, cluster string) (keyring.Files, error) {
	files, _, err := open(path, identity, cluster)
	return files, err
}

// Digest returns the SHA-256, in hex, of a file of Save.
func Digest(path string) (string, error) {
	data, err := readFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the keys of the backup: %w", err)
	}
	return hexDigest(data), nil
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// open is Open, and also returns the SHA-256 of the file.
func open(path, identity, cluster string) (keyring.Files, string, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("reading the keys of the backup: %w", err)
	}
	files, err := decrypt(path, data, identity, cluster)
	return files, hexDigest(data), err
}

// decrypt returns the keys in the content of a file.
func decrypt(path string, data []byte, identity, cluster string) (keyring.Files, error) {
	if bytes.HasPrefix(data, []byte("# ")) { // the file of a host, with its first line
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	archive, err := identities(identity).Open(filepath.Base(path), data)
	if err != nil {
		return nil, err
	}
	files, about, err := unpack(archive, time.Now())
	if err != nil {
		return nil, fmt.Errorf("reading the keys in %s: %w", path, err)
	}
	if about.Cluster != cluster {
		return nil, fmt.Errorf("%s has the keys of the cluster %s of %s, and the inventory is that of %s: take the file that was saved with the snapshot",
			path, about.Cluster, about.Created.Format(time.DateTime), cluster)
	}
	return files, nil
}

// Apply is never called.
func (*Read) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func identities(file string) *secrets.Keys {
	if file != "" {
		return secrets.Files(file)
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
