// Package certificate has the host's part of the cluster's certificates. The private
// key of a leaf is created on its host and never leaves it: the host sends a request
// with the name of the certificate, and the controller decides subject and SANs by
// that name.
package certificate

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"deployer/engine"
)

// defaultRenewBefore leaves a month to notice a failed renewal; leaves are valid for
// a year.
const defaultRenewBefore = 30 * 24 * time.Hour

// Certificates installs the certificates and keys of the host.
type Certificates struct {
	Certificates []Want        `yaml:"certificates" required:"true" doc:"the certificates wanted on this host"`
	RenewBefore  time.Duration `yaml:"renew_before" range:"0s.." doc:"minimum remaining lifetime; a certificate with less is renewed. Default 720h (30 days)"`
	IssuedBefore string        `yaml:"issued_before" rule:"time" doc:"time as in 2026-11-23T07:00:00Z; a certificate whose validity begins before it is renewed. Default: age does not matter"`
	Requests     bool          `yaml:"requests" doc:"make missing keys only, and output a signing request for each certificate that has to be issued, as requests: [{name, csr}], for an authority that the controller does not have; default false"`
}

// Want describes one certificate.
type Want struct {
	Name        string        `yaml:"name" rule:"word" required:"true" doc:"name of the certificate on the controller; unique on the host"`
	Authority   string        `yaml:"authority" rule:"word" doc:"name of the CA that signs the certificate, for output"`
	CN          string        `yaml:"cn" rule:"line" doc:"common name of the subject"`
	Orgs        []string      `yaml:"orgs" rule:"line" doc:"organizations of the subject"`
	DNS         []string      `yaml:"dns" rule:"word" doc:"DNS names it is valid for"`
	IPs         []string      `yaml:"ips" rule:"address" doc:"addresses it is valid for"`
	Usages      []string      `yaml:"usages" rule:"in:server,client" doc:"server, client"`
	CertPath    string        `yaml:"cert_path" rule:"path" required:"true" doc:"absolute path of the certificate"`
	KeyPath     string        `yaml:"key_path" rule:"path" required:"true" doc:"absolute path of the key; always mode 0600"`
	CAPath      string        `yaml:"ca_path" rule:"path" required:"true" doc:"absolute path of the CA certificate, which must have signed the certificate; the first one of several"`
	Owner       string        `yaml:"owner" rule:"owner" doc:"user name or number, the owner of certificate and key; default: an existing file keeps its owner, a new one belongs to root"`
	Mode        string        `yaml:"mode" rule:"mode" doc:"octal mode of the certificate; default \"0644\""`
	RenewBefore time.Duration `yaml:"renew_before" range:"0s.." doc:"minimum remaining lifetime of this certificate; default: renew_before of the task"`
	Rotated     string        `yaml:"rotated" rule:"path" doc:"absolute path of a file with certificate and key that the program has made of this certificate itself and prefers to it, as the kubelet does. When that one must be renewed, this one is, and the file is removed. Default none"`

	IssuedBefore string `yaml:"issued_before" rule:"time" doc:"time as in 2026-11-23T07:00:00Z; default: issued_before of the task"`
}

var (
	_ engine.Module = (*Certificates)(nil)
	_ engine.Module = (*CAFiles)(nil)
	_ engine.Module = (*CARead)(nil)
)

func (c *Certificates) wants() ([]Want, error) {
	if len(c.Certificates) == 0 {
		return nil, nil
	}
	out := make([]Want, 0, len(c.Certificates))
	for _, w := range c.Certificates {
		w.RenewBefore = cmp.Or(w.RenewBefore, c.RenewBefore, defaultRenewBefore)
		w.Mode = cmp.Or(w.Mode, "0644")
		if w.IssuedBefore = cmp.Or(w.IssuedBefore, c.IssuedBefore); w.IssuedBefore != "" {
			at, err := time.Parse(time.RFC3339, w.IssuedBefore)
			if err != nil {
				return nil, fmt.Errorf("certificate %q: issued_before: %w", w.Name, err)
			}
			w.IssuedBefore = at.UTC().Format(time.RFC3339)
		}
		if err := w.valid(); err != nil {
			return nil, fmt.Errorf("certificate %q: %w", w.Name, err)
		}
		out = append(out, w)
	}
	return out, nil
}

func (w Want) valid() error {
	if w.Name == "" || w.CertPath == "" || w.KeyPath == "" || w.CAPath == "" {
		return errors.New("name, cert_path, key_path and ca_path are wanted")
	}
	if w.CertPath == w.KeyPath {
		return errors.New("cert_path and key_path are the same file")
	}
	for _, ip := range w.IPs {
		if _, err := netip.ParseAddr(ip); err != nil {
			return err
		}
	}
	for _, u := range w.Usages {
		if u != "server" && u != "client" {
			return fmt.Errorf("usage %q is neither server nor client", u)
		}
	}
	return nil
}
