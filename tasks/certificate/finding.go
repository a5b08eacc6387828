package certificate

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"time"

	"deployer/engine"
	"deployer/tasks/checkresult"
)

// finding is a certificate on the host, compared with the wanted one.
type finding struct {
	name string // of the wanted certificate; empty for an authority
	path string
	fix  string            // advice for a fault
	cert *x509.Certificate // nil when it cannot be read
	key  crypto.Signer     // of the wanted certificate; nil when there is none
	fault
}

const (
	renewFix  = "run deployer certs renew: it renews what is due"
	rotateFix = "run deployer certs rotate-ca"
)

// find returns the finding of a certificate, and another one of the file by which the
// program has replaced it.
func (w Want) find(sys engine.System, now time.Time) []finding {
	s, err := look(sys, w, now)
	f := finding{name: w.Name, path: w.CertPath, fix: renewFix, cert: first(s.cert), key: s.key, fault: s.stale}
	switch {
	case err != nil:
		f.fix, f.fault = "", faultf(stateUnreadable, "%v", err)
	case s.noKey != "":
		f.fault = faultf(stateDamaged, "key %s: %s", w.KeyPath, s.noKey)
	case s.stale.none() && len(s.access) > 0:
		f.fault = faultf(stateAccess, "needs to %s on %s", s.access[0].action, s.access[0].path)
	}
	if s.rotated == nil {
		return []finding{f}
	}
	return []finding{f, {name: w.Name, path: w.Rotated, fix: renewFix, cert: first(s.rotated), fault: s.rotatedStale}}
}

// findAuthorities returns the findings of the certificates of authorities in a file: one,
// or during a rotation several.
func findAuthorities(sys engine.System, path string, renewBefore time.Duration, now time.Time) []finding {
	f := finding{path: path, fix: rotateFix}
	data, err := readOptional(sys, path, false)
	certs, bad := parseCertificates(data)
	switch {
	case err != nil:
		f.fix, f.fault = "", faultf(stateUnreadable, "%v", err)
	case data == nil:
		f.fix, f.fault = "run deployer install", fault{stateMissing, "it does not exist"}
	case bad != nil:
		f.fix, f.fault = "", fault{stateDamaged, "it cannot be read"}
	}
	if !f.none() {
		return []finding{f}
	}
	var out []finding
	for _, f.cert = range certs {
		f.fault = fault{}
		switch {
		case now.After(f.cert.NotAfter):
			f.fault = faultf(stateExpired, "it expired on %s", day(f.cert.NotAfter))
		case now.Add(renewBefore).After(f.cert.NotAfter):
			f.fault = faultf(stateExpiring, "it expires on %s", day(f.cert.NotAfter))
		}
		out = append(out, f)
	}
	return out
}

// first returns the first certificate of a file; nil without one.
func first(data []byte) *x509.Certificate {
	certs, err := parseCertificates(data)
	if err != nil {
		return nil
	}
	return certs[0]
}

func (f finding) row() checkresult.Row {
	row := checkresult.Problem(f.fix, "%s", f.reason)
	if f.none() {
		row = checkresult.OK("valid until %s", day(f.cert.NotAfter))
	}
	return row.Named("certificate " + f.path)
}

// output returns the finding as JSON values. The fingerprint is that of openssl x509
// -fingerprint -sha256, without colons; The value public_key is the SHA-256 of the
// public half of the key on the host, in the form of a SubjectPublicKeyInfo.
func (f finding) output() map[string]any {
	out := map[string]any{"name": f.name, "path": f.path, "state": f.state, "detail": f.reason}
	if f.none() {
		out["state"] = stateOK
	}
	if f.key != nil {
		if public, err := x509.MarshalPKIXPublicKey(f.key.Public()); err == nil {
			sum := sha256.Sum256(public)
			out["public_key"] = hex.EncodeToString(sum[:])
		}
	}
	if f.cert != nil {
		sum := sha256.Sum256(f.cert.Raw)
		out["subject"], out["fingerprint"] = f.cert.Subject.String(), hex.EncodeToString(sum[:])
		out["expires"] = f.cert.NotAfter.UTC().Format(time.RFC3339)
	}
	return out
}
