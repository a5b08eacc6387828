package keyring

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"

	"deployer/engine"
)

// BackupKey is the key of the MACs (HMAC-SHA256) by which a restore recognizes a backup of the
// cluster. It is derived from the key of service accounts, which only masters and the
// encrypted keys of a backup have, and which rotations of authorities and of the key for Secrets
// do not change. So every cluster has one, also one that an earlier version has installed.
type BackupKey []byte

// BackupKey returns the cluster's key for MACs of backups.
func (k *Keys) BackupKey() (BackupKey, error) { return BackupKeyOf(k.files) }

// BackupKeyOf is Keys.BackupKey of files, such as those of a backup.
func BackupKeyOf(files Files) (BackupKey, error) {
	block, _ := pem.Decode(files[AccountKey])
	if block == nil {
		return nil, errors.New(AccountKey + " is no key in PEM form")
	}
	key, err := hkdf.Key(sha256.New, block.Bytes, nil, "deployer: MAC of backups of etcd", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("deriving the key of backups: %w", err)
	}
	return key, nil
}

// Sign returns the MAC of a text, in hex.
func (k BackupKey) Sign(text string) string {
	mac := hmac.New(sha256.New, k)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// Verify reports whether mac, in hex, is that of the text.
func (k BackupKey) Verify(text, mac string) bool {
	return hmac.Equal([]byte(k.Sign(text)), []byte(mac))
}

// fingerprintText is the text whose MAC identifies a key.
const fingerprintText = "fingerprint"

// Fingerprint identifies the key without revealing it: 32 characters of hex.
func (k BackupKey) Fingerprint() string { return k.Sign(fingerprintText)[:32] }

// ReadBackupKey is the action `backup_mac_key`: it outputs the key of MACs of backups, for the
// hosts that save snapshots by a timer. Its task must be secret.
//
// Output: key in hex, fingerprint.
type ReadBackupKey struct{}

// ReadOnly is true: the action changes no host.
func (*ReadBackupKey) ReadOnly() bool { return true }

// Check reads the run's keyring.
func (*ReadBackupKey) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	ring, err := Of(actx)
	if err != nil {
		return engine.Change{}, err
	}
	keys, err := ring.Keys()
	if err != nil {
		return engine.Change{}, err
	}
	key, err := keys.BackupKey()
	if err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(engine.Output{"key": hex.EncodeToString(key), "fingerprint": key.Fingerprint()}), nil
}

// Apply is never called.
func (*ReadBackupKey) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
