package keyring

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"deployer/engine"
)

// notWritten is the digest of a file that a dry run created in memory: the next run
// creates another one.
const notWritten = "made by the run"

// Digests is the action `key_digests`: it outputs a digest of each key file by path, for
// services that restart when the file changes. It comes behind the action `ca_load`.
type Digests struct{}

// ReadOnly is true: the action changes no host.
func (*Digests) ReadOnly() bool { return true }

// Check reads the run's keyring.
func (*Digests) Check(_ context.Context, site engine.ActionContext) (engine.Change, error) {
	ring, ok := engine.Service[*Keyring](site.Services())
	if !ok {
		return engine.Change{}, errors.New("the program that started this run provides no keyring")
	}
	keys, err := ring.Keys()
	if err != nil {
		return engine.Change{}, err
	}
	out := engine.Output{}
	for path, digest := range keys.Digests() {
		if site.CheckOnly() && slices.Contains(keys.made, path) {
			digest = notWritten
		}
		out[path] = digest
	}
	return engine.NoChange(out), nil
}

// Apply is never called.
func (*Digests) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// Digests returns a digest of each file by path: HMAC-SHA256 with the key of the
// cluster's authority. Users who can read a digest, in a manifest, cannot test guesses
// of the secret with it.
func (k *Keys) Digests() map[string]string {
	out := map[string]string{}
	for path, content := range k.files {
		mac := hmac.New(sha256.New, k.files[ClusterKey])
		mac.Write([]byte(path + "\x00"))
		mac.Write(content)
		out[path] = hex.EncodeToString(mac.Sum(nil))
	}
	return out
}
