package keyring

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Stage is the progress of the rotation of an authority, as the files of the masters show
// it.
type Stage string

// The stages in their order.
const (
	Steady  Stage = "steady"  // hosts trust one certificate, and it signs
	Trusted Stage = "trusted" // hosts trust the next authority too, which does not sign yet
	Signing Stage = "signing" // the new authority signs, and hosts still trust the former one
)

// Stage returns the stage of the authority's rotation.
func (a *Authority) Stage() Stage {
	switch {
	case a.next != nil:
		return Trusted
	case len(a.former()) > 0:
		return Signing
	}
	return Steady
}

// MadeByRotation reports whether the authority has replaced another one.
func (a *Authority) MadeByRotation() bool {
	return slices.ContainsFunc(a.Cert.URIs, func(u *url.URL) bool { return strings.HasPrefix(u.String(), replacesPrefix) })
}

// former returns the certificates of authorities that this one has replaced and that hosts
// trust.
func (a *Authority) former() []*x509.Certificate {
	return slices.DeleteFunc(slices.Clone(a.trusted), func(c *x509.Certificate) bool { return !replaces(a.Cert, c) })
}

// Add returns the keys with a next authority beside that of the name: hosts trust it, and
// it does not sign yet. The stage must be Steady.
func (k *Keys) Add(name string, now time.Time, lifetime time.Duration) (*Keys, error) {
	return k.step(name, Steady, now, func(d domain, a *Authority, files Files) error {
		next, err := newAuthority(d, now, lifetime, replacedBy(a.Cert)...)
		if err != nil {
			return err
		}
		files[d.nextPath] = append(slices.Clone(next.certPEM), next.keyPEM...)
		return nil
	})
}

// Promote returns the keys whose next authority signs. The stage must be Trusted, and all
// processes must trust the next authority before a certificate is signed with the result.
func (k *Keys) Promote(name string, now time.Time) (*Keys, error) {
	return k.step(name, Trusted, now, func(d domain, a *Authority, files Files) error {
		key, err := encodeKey(a.next.key)
		files[d.keyPath] = key
		return err
	})
}

// Drop returns the keys without the authorities that the present one has replaced. The
// stage must be Signing, and no process may use a certificate of theirs.
func (k *Keys) Drop(name string, now time.Time) (*Keys, error) {
	return k.step(name, Signing, now, func(d domain, a *Authority, files Files) error {
		former := a.former()
		files[d.certPath] = EncodeCertificates(slices.DeleteFunc(slices.Clone(a.trusted), func(c *x509.Certificate) bool {
			return slices.ContainsFunc(former, c.Equal)
		}))
		return nil
	})
}

// step returns the keys of changed files.
func (k *Keys) step(name string, from Stage, now time.Time, change func(domain, *Authority, Files) error) (*Keys, error) {
	a, err := k.Authority(name)
	if err != nil {
		return nil, err
	}
	if a.External() {
		return nil, fmt.Errorf("rotating the %s authority: %w; its owner replaces it", name, ErrExternal)
	}
	if stage := a.Stage(); stage != from {
		return nil, fmt.Errorf("the rotation of the %s authority is at the stage %q, this step begins at %q", name, stage, from)
	}
	d := domains()[slices.IndexFunc(domains(), func(d domain) bool { return d.name == name })]
	files := k.Files()
	if err := change(d, a, files); err != nil {
		return nil, err
	}
	changed, _, err := Complete(files, now, 0, k.external)
	if err != nil {
		return nil, fmt.Errorf("rotating the %s authority: %w", name, err)
	}
	changed.made = slices.Clone(k.made)
	if files[d.nextPath] != nil && k.files[d.nextPath] == nil {
		changed.made = append(changed.made, d.nextPath, d.certPath)
	}
	return changed, nil
}

// A certificate of an authority names those that it replaces, so that masters whose files
// differ are those of one cluster, and the newer one is known: urn:deployer:replaces:HEX
// among its alternative names, with the SHA-256 of the other certificate.
const replacesPrefix = "urn:deployer:replaces:"

// maxReplaced is the maximum number of authorities that a certificate names. A master that
// was off for more rotations is another cluster's.
const maxReplaced = 8

// replacedBy returns the names of the authorities that the successor of an authority
// replaces: itself and its own predecessors, the newest first.
func replacedBy(cert *x509.Certificate) []*url.URL {
	out := []*url.URL{replacesURL(cert)}
	for _, u := range cert.URIs {
		if strings.HasPrefix(u.String(), replacesPrefix) && len(out) < maxReplaced {
			out = append(out, u)
		}
	}
	return out
}

func replacesURL(cert *x509.Certificate) *url.URL {
	sum := sha256.Sum256(cert.Raw)
	scheme, rest, _ := strings.Cut(replacesPrefix, ":")
	return &url.URL{Scheme: scheme, Opaque: rest + hex.EncodeToString(sum[:])}
}

// replaces reports whether the authority of a certificate was made to replace another one.
func replaces(cert, former *x509.Certificate) bool {
	want := replacesURL(former).String()
	return slices.ContainsFunc(cert.URIs, func(u *url.URL) bool { return u.String() == want })
}
