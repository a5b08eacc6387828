package keybackup

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"deployer/engine"
	"deployer/secrets"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/keyring"
	"deployer/tasks/stat"
)

// Save is the action `key_backup`: it encrypts the keys of the run's keyring to recipients.
// Save changes nothing; the module `copy` writes its output to a host.
//
// Output: content, the encrypted archive; empty when the file that is present has the same
// keys for the same recipients. Each encryption with age gives other bytes, so a file with present begins
// with a line that names the keys in it.
type Save struct {
	Recipients []string `yaml:"recipients" rule:"own" required:"true" doc:"public keys of age or SSH that can open the backup: age1..., ssh-ed25519 ..., ssh-rsa ..."`
	Present    string   `yaml:"present" rule:"path" doc:"path of the file on the host, which is made only when keys or recipients have changed; the content has a first line then, that age does not read. Default: none"`
}

// ReadOnly is true.
func (*Save) ReadOnly() bool { return true }

// Valid implements engine.Validator.
func (s *Save) Valid() error {
	_, err := parseRecipients(s.Recipients)
	return err
}

func parseRecipients(keys []string) ([]age.Recipient, error) {
	to, err := secrets.ParseRecipients("recipients", strings.Join(keys, "\n"))
	if err != nil {
		return nil, fmt.Errorf("the recipients of the keys: %w", err)
	}
	return to, nil
}

// Check encrypts. Check fails when the keyring is empty or incomplete.
func (s *Save) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return engine.Change{}, err
	}
	ring, err := keyring.Of(actx)
	if err != nil {
		return engine.Change{}, err
	}
	keys, err := ring.Keys()
	if err != nil {
		return engine.Change{}, err
	}
	first := ""
	if s.Present != "" {
		first = header(c.Name, keys, s.Recipients)
		present, err := s.present(ctx, actx)
		if err != nil {
			return engine.Change{}, err
		}
		if strings.HasPrefix(present, first) && strings.HasSuffix(present, footer) {
			return engine.NoChange(engine.Output{"content": ""}), nil
		}
	}
	sealed, err := Seal(c.Name, keys, s.Recipients)
	if err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(engine.Output{"content": first + string(sealed)}), nil
}

// Apply is never called.
func (*Save) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// Seal returns the keys of a cluster, encrypted to recipients.
func Seal(cluster string, keys *keyring.Keys, recipients []string) ([]byte, error) {
	to, err := parseRecipients(recipients)
	if err != nil {
		return nil, err
	}
	archive, err := pack(cluster, keys.Files(), keys.External().Names(), time.Now())
	if err != nil {
		return nil, err
	}
	sealed, err := secrets.Seal(archive, to)
	if err != nil {
		return nil, fmt.Errorf("encrypting the keys of the cluster: %w", err)
	}
	return sealed, nil
}

// footer is the last line of an armored file that is whole.
const footer = "-----END AGE ENCRYPTED FILE-----\n"

// header returns the first line of a file, with a digest of its content. The digest is keyed
// by the key of the cluster's authority, or by that of service accounts when the authority
// is external, so that nobody can test guesses of a secret with it.
func header(cluster string, keys *keyring.Keys, recipients []string) string {
	key := keys.Files()[keyring.ClusterKey]
	if key == nil {
		key = keys.Files()[keyring.AccountKey]
	}
	mac := hmac.New(sha256.New, key)
	digests := keys.Digests()
	fmt.Fprintf(mac, "%d %q %q", format, cluster, recipients)
	for _, path := range slices.Sorted(maps.Keys(digests)) {
		fmt.Fprintf(mac, "\n%s %s", path, digests[path])
	}
	return "# Written by deployer. Keys of the cluster for its backups: " + hex.EncodeToString(mac.Sum(nil)) + "\n"
}

// present returns the file that the host has; empty for none.
func (s *Save) present(ctx context.Context, actx engine.ActionContext) (string, error) {
	res, err := actx.RunOn(ctx, actx.Host(), "read", &stat.Read{Paths: []string{s.Present}, MissingOK: true})
	if err == nil && res.Failure != nil {
		err = res.Failure
	}
	if err != nil {
		return "", fmt.Errorf("reading the present keys: %w", err)
	}
	files, _ := res.Output["files"].(map[string]any)
	text, _ := files[s.Present].(string)
	return text, nil
}
