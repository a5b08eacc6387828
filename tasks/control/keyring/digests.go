package keyring

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
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
func (*Digests) Check(_ context.Context, actx engine.ActionContext) (engine.Change, error) {
	ring, err := Of(actx)
	if err != nil {
		return engine.Change{}, err
	}
	keys, err := ring.Keys()
	if err != nil {
		return engine.Change{}, err
	}
	out := engine.Output{}
	for path, digest := range keys.Digests() {
		if actx.CheckOnly() && slices.Contains(keys.made, path) {
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

// Digests returns a digest of each file by path: HMAC-SHA256 with the key of service
// accounts, which the rotation of an authority does not change. Users who can read a
// digest, in a manifest, cannot test guesses of the secret with it. The digest of a file
// with certificates does not depend on their order: all of them are trusted alike.
func (k *Keys) Digests() map[string]string {
	out := map[string]string{}
	for path, content := range k.written() {
		mac := hmac.New(sha256.New, k.files[AccountKey])
		mac.Write([]byte(path + "\x00"))
		mac.Write(unordered(path, content))
		out[path] = hex.EncodeToString(mac.Sum(nil))
	}
	return out
}

// unordered returns the content of a file; that of one with the certificates of an
// authority in the order of their bytes.
func unordered(path string, content []byte) []byte {
	if !slices.ContainsFunc(domains(), func(d domain) bool { return d.certPath == path }) {
		return content
	}
	certs, err := ParseCertificates(content)
	if err != nil {
		return content
	}
	slices.SortFunc(certs, func(a, b *x509.Certificate) int { return bytes.Compare(a.Raw, b.Raw) })
	return EncodeCertificates(certs)
}
