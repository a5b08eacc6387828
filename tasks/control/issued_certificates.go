package control

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"deployer/cluster"
	"deployer/cluster/external"
	"deployer/tasks/control/keyring"
)

// issued returns the certificate that an external authority has issued for the key of a
// host's request. external is false when the run signs the certificate itself. The host
// gets the error, so it names a file of the controller without its directory.
func issued(c *cluster.Cluster, host, name string, csr []byte, now time.Time) (cert []byte, isExternal bool, err error) {
	list := c.ExternalCertificates(host)
	i := slices.IndexFunc(list, func(cert cluster.Certificate) bool { return cert.Name == name })
	if i < 0 {
		return nil, false, nil
	}
	want := list[i]
	key, err := external.CheckRequest(want, csr)
	if err != nil {
		return nil, true, fmt.Errorf("reading the request of host %s for certificate %q: %w", host, name, err)
	}
	authority, err := keyring.ParseCertificates(c.ExternalAuthorities.Certificates[want.Authority])
	if err != nil {
		return nil, true, fmt.Errorf("reading the %s authority: %w", want.Authority, err)
	}
	found, ok := c.IssuedFor(host, want)
	if !ok {
		return nil, true, fmt.Errorf("the external %s authority has issued no certificate %s for %s: write the request with deployer certs requests, and have it signed", want.Authority, name, host)
	}
	if _, err := external.Verify(want, found.PEM, key, authority, now); err != nil {
		return nil, true, fmt.Errorf("%s: %w; write the request again with deployer certs requests, and have it signed", filepath.Base(found.File), err)
	}
	return found.PEM, true, nil
}
