package keyring

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// External are the certificates of authorities whose keys are outside of the cluster, by
// the authorities' names; in PEM form, the one that signs first.
type External map[string][]byte

// ErrExternal reports that a certificate cannot be signed, because the key of its authority
// is outside of the cluster.
var ErrExternal = errors.New("the key of the authority is outside of the cluster")

// in returns the files of masters with the certificates of external authorities in the place
// of those that the masters have. in fails when a master has the key of one, which must not
// be there, and when a master has the certificate of another authority, which would cut
// every host off that has a certificate of it.
func (e External) in(held map[string]Files) (map[string]Files, error) {
	out := map[string]Files{}
	var errs []error
	for _, host := range slices.Sorted(maps.Keys(held)) {
		files := held[host].Clone()
		for _, d := range domains() {
			certificate, ok := e[d.name]
			if !ok {
				continue
			}
			errs = append(errs, d.refuseKeys(host, files), d.refuseOther(host, files, certificate))
			if present(files[d.certPath]) != nil {
				files[d.certPath] = certificate
			}
		}
		out[host] = files
	}
	return out, errors.Join(errs...)
}

func (d domain) refuseKeys(host string, files Files) error {
	for _, path := range []string{d.keyPath, d.nextPath} {
		if present(files[path]) != nil {
			return fmt.Errorf("%s has %s, and the inventory says that the %s authority is external: save the key where it belongs, remove it from all masters, and its copies with deployer runs purge", host, path, d.name)
		}
	}
	return nil
}

func (d domain) refuseOther(host string, files Files, certificate []byte) error {
	had := present(files[d.certPath])
	if had == nil {
		return nil
	}
	before, err := decodeCert(had)
	if err != nil {
		return fmt.Errorf("reading %s of %s: %w", d.certPath, host, err)
	}
	now, err := decodeCert(certificate)
	if err != nil {
		return fmt.Errorf("reading the certificate of the %s authority: %w", d.name, err)
	}
	if !samePublic(before.PublicKey, now.PublicKey) || before.Subject.String() != now.Subject.String() {
		return fmt.Errorf("%s has %s of another authority (%s), and the inventory names %s. Hosts trust the former one only, and a cluster in use gets no other key: name the former certificate, or one that its owner has renewed with the same key and subject",
			host, d.certPath, fingerprint(had), fingerprint(certificate))
	}
	return nil
}

// parseExternal parses an authority without a key.
func parseExternal(d domain, certPEM []byte) (*Authority, error) {
	trusted, err := ParseCertificates(certPEM)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of the %s authority: %w", d.name, err)
	}
	return &Authority{Name: d.name, Cert: trusted[0], trusted: trusted, certPEM: certPEM}, nil
}

// External reports whether the key of the authority is outside of the cluster.
func (a *Authority) External() bool { return a.key == nil }

// External returns the certificates of the external authorities.
func (k *Keys) External() External { return maps.Clone(k.external) }

// ExternalIn returns the external authorities of a cluster by its files: those of names.
func ExternalIn(files Files, names []string) External {
	out := External{}
	for _, d := range domains() {
		if slices.Contains(names, d.name) {
			out[d.name] = files[d.certPath]
		}
	}
	return out
}

// Names returns the names of the authorities, sorted.
func (e External) Names() []string { return slices.Sorted(maps.Keys(e)) }
