package snapshot

import (
	"cmp"
	"context"
	"time"

	"deployer/engine"
	"deployer/tasks/control/keyring"
)

// Sign is the action `snapshot_mac`: it authenticates a snapshot with the key that the run's
// keyring has for backups. Sign changes nothing; the module `copy` writes its output beside
// the snapshot.
//
// Output: content of the file, fingerprint of the key.
type Sign struct {
	Name   string `yaml:"name" rule:"filename" required:"true" doc:"name of the snapshot, without .db"`
	Bytes  int64  `yaml:"bytes" range:"0.." required:"true" doc:"size of the file"`
	SHA256 string `yaml:"sha256" rule:"sha256" required:"true" doc:"SHA-256 of the file in hex"`
	Keys   string `yaml:"keys" rule:"sha256" doc:"SHA-256, in hex, of the file with the encrypted keys of the cluster beside the snapshot; default: there is none"`
}

// ReadOnly is true.
func (*Sign) ReadOnly() bool { return true }

// Check returns the content. The time is that of the controller.
func (s *Sign) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	key, err := keyOf(actx)
	if err != nil {
		return engine.Change{}, err
	}
	m := MAC{Name: s.Name, Saved: time.Now().UTC().Truncate(time.Second), Bytes: s.Bytes, SHA256: s.SHA256, Keys: cmp.Or(s.Keys, NoKeys)}
	content := m.Sign(key)
	if _, err := ParseMAC(content); err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(engine.Output{"content": content, "fingerprint": key.Fingerprint()}), nil
}

// Apply is never called.
func (*Sign) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// keyOf returns the key for backups of the run's keyring.
func keyOf(actx engine.ActionContext) (keyring.BackupKey, error) {
	ring, err := keyring.Of(actx)
	if err != nil {
		return nil, err
	}
	keys, err := ring.Keys()
	if err != nil {
		return nil, err
	}
	return keys.BackupKey()
}
