package keyring

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// errOtherCluster reports authorities of which none has replaced the other.
var errOtherCluster = errors.New("no authority has replaced the other")

// heldAuthority is an authority as one master has it.
type heldAuthority struct {
	certPEM, keyPEM, nextPEM []byte

	trusted []*x509.Certificate
	signer  *x509.Certificate // nil: the master has no key
	next    *Authority        // nil without one
}

// mergeAuthority returns the files of an authority that masters hold which a rotation has
// reached to a different extent. mergeAuthority goes forward as far as the files prove that it is safe
// and never back:
//
//   - the newest authority that signs on a master signs on all, because a rotation lets it
//     sign only when all hosts trust it;
//   - a former authority is trusted as long as each master on which the newest one signs
//     trusts it: a rotation drops it only when no process uses a certificate of it;
//   - the next authority of any master is kept.
//
// mergeAuthority fails with errOtherCluster when no rotation has led from one of the authorities to
// the other.
func mergeAuthority(d domain, held map[string]Files) (Files, error) {
	masters, err := heldAuthorities(d, held)
	if err != nil {
		return nil, err
	}
	var signer *x509.Certificate
	for _, m := range masters {
		switch {
		case m.signer == nil || signer != nil && (m.signer.Equal(signer) || replaces(signer, m.signer)):
		case signer == nil || replaces(m.signer, signer):
			signer = m.signer
		default:
			return nil, errOtherCluster
		}
	}
	if signer == nil {
		return nil, fmt.Errorf("no master holds %s", d.keyPath)
	}
	merged := Files{}
	next := newestNext(masters, signer)
	trusted := []*x509.Certificate{signer}
	if next != nil {
		merged[d.nextPath] = next.keyPEM
		trusted = append(trusted, next.Cert)
	}
	for _, m := range masters {
		for _, c := range m.trusted {
			known := slices.ContainsFunc(trusted, c.Equal)
			switch {
			case known || replaces(c, signer):
			case !replaces(signer, c) && !trustedByAll(masters, c, nil):
				return nil, errOtherCluster
			case trustedByAll(masters, c, signer):
				trusted = append(trusted, c)
			}
		}
	}
	merged[d.certPath] = EncodeCertificates(trusted)
	for _, m := range masters {
		if m.signer != nil && m.signer.Equal(signer) {
			merged[d.keyPath] = m.keyPEM
		}
		// A file with the same certificates keeps its content.
		if slices.EqualFunc(m.trusted, trusted, (*x509.Certificate).Equal) {
			merged[d.certPath] = m.certPEM
		}
	}
	return merged, nil
}

// heldAuthorities parses what the masters hold, in the order of their names.
func heldAuthorities(d domain, held map[string]Files) ([]heldAuthority, error) {
	var masters []heldAuthority
	var all []*x509.Certificate
	for _, host := range slices.Sorted(maps.Keys(held)) {
		m := heldAuthority{certPEM: present(held[host][d.certPath]), keyPEM: present(held[host][d.keyPath]), nextPEM: present(held[host][d.nextPath])}
		var err error
		if m.certPEM != nil {
			m.trusted, err = ParseCertificates(m.certPEM)
		}
		if err == nil && m.nextPEM != nil {
			m.next, err = parseNext(d, m.nextPEM)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", host, err)
		}
		all = append(all, m.trusted...)
		if m.next != nil {
			all = append(all, m.next.Cert)
		}
		masters = append(masters, m)
	}
	for i, m := range masters {
		if m.keyPEM == nil {
			continue
		}
		key, err := decodeKey(m.keyPEM)
		if err != nil {
			return nil, err
		}
		// The master's own certificate comes first: another one may have the same key.
		for _, c := range slices.Concat(m.trusted, all) {
			if masters[i].signer == nil && samePublic(c.PublicKey, key.Public()) {
				masters[i].signer = c
			}
		}
		if masters[i].signer == nil {
			return nil, fmt.Errorf("no master holds the certificate of a key in %s", d.keyPath)
		}
	}
	return masters, nil
}

// present returns the content of a file; nil for one that was cut short before its first
// byte.
func present(data []byte) []byte {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	return data
}

// newestNext returns the next authority after a signer; nil without one.
func newestNext(masters []heldAuthority, signer *x509.Certificate) *Authority {
	var newest *Authority
	for _, m := range masters {
		if m.next != nil && replaces(m.next.Cert, signer) && (newest == nil || m.next.Cert.NotBefore.After(newest.Cert.NotBefore)) {
			newest = m.next
		}
	}
	return newest
}

// trustedByAll reports whether each master trusts a certificate that has the certificate of
// an authority, and on which a signer signs; nil for any signer.
func trustedByAll(masters []heldAuthority, c, signer *x509.Certificate) bool {
	return !slices.ContainsFunc(masters, func(m heldAuthority) bool {
		return len(m.trusted) > 0 && (signer == nil || m.signer != nil && m.signer.Equal(signer)) && !slices.ContainsFunc(m.trusted, c.Equal)
	})
}
