package keyring

import (
	"context"
	"crypto/tls"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/certificate"
	"deployer/tasks/control/actionctx"
)

// identityReread is the remaining lifetime of the controller's certificate from which
// on it is read again, because the host may have a newer one.
const identityReread = 15 * time.Minute

// Identity returns a client certificate of the controller: with an external authority the
// one that LoadIdentity has read, else a new one, as Keys.Identity.
func (k *Keyring) Identity(authority, commonName string, organizations []string, ttl time.Duration, now time.Time) (*tls.Certificate, error) {
	keys, err := k.Keys()
	if err != nil {
		return nil, err
	}
	a, err := keys.Authority(authority)
	if err != nil {
		return nil, err
	}
	if !a.External() {
		return keys.Identity(authority, commonName, organizations, ttl, now)
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	if id := k.identities[authority]; id != nil {
		return id, nil
	}
	return nil, fmt.Errorf("no host has a valid certificate %s, by which deployer is known to what trusts the external %s authority: write its request with deployer certs requests, and have it signed",
		identityName(authority), authority)
}

// LoadIdentity reads a client certificate and its key from a host, for connections to what
// trusts an external authority. The key stays in memory. LoadIdentity does nothing for other
// authorities, before the keys of the run are loaded, and when no host has a valid one yet,
// as in a new cluster.
func LoadIdentity(ctx context.Context, actx engine.ActionContext, ring *Keyring, authority string, now time.Time) error {
	keys, err := ring.Keys()
	if err != nil {
		return nil //nolint:nilerr // Identity reports it
	}
	a, err := keys.Authority(authority)
	if err != nil || !a.External() {
		return err
	}
	ring.mu.RLock()
	had := ring.identities[authority]
	ring.mu.RUnlock()
	if had != nil && now.Add(identityReread).Before(had.Leaf.NotAfter) {
		return nil
	}
	c, err := actionctx.Cluster(actx)
	if err != nil {
		return err
	}
	for _, cert := range identityFiles(c, authority) {
		pair := readIdentity(ctx, actx, cert)
		if pair == nil || now.After(pair.Leaf.NotAfter) || pair.Leaf.CheckSignatureFrom(a.Cert) != nil {
			continue
		}
		ring.mu.Lock()
		if ring.identities == nil {
			ring.identities = map[string]*tls.Certificate{}
		}
		ring.identities[authority] = pair
		ring.mu.Unlock()
		if now.Add(identityReread).Before(pair.Leaf.NotAfter) {
			break
		}
	}
	return ctx.Err()
}

func identityName(authority string) string {
	if authority == Etcd {
		return cluster.CertificateHealthcheck
	}
	return cluster.CertificateSuperAdmin
}

// hostCertificate is a certificate of the table on a host.
type hostCertificate struct {
	host string
	cluster.Certificate
}

// identityFiles lists the certificates with which the controller may authenticate.
func identityFiles(c *cluster.Cluster, authority string) []hostCertificate {
	var out []hostCertificate
	for _, host := range c.Order {
		for _, cert := range c.Nodes[host].Certificates {
			if cert.Name == identityName(authority) {
				out = append(out, hostCertificate{host, cert})
			}
		}
	}
	return out
}

// readIdentity returns a certificate with its key; nil when the host does not answer or has
// no pair.
func readIdentity(ctx context.Context, actx engine.ActionContext, cert hostCertificate) *tls.Certificate {
	const dir = "/etc/kubernetes"
	read := &certificate.CARead{Dir: dir}
	for _, path := range []string{cert.CertPath, cert.KeyPath} {
		name, err := filepath.Rel(dir, path)
		if err != nil || strings.HasPrefix(name, "..") {
			return nil
		}
		read.Names = append(read.Names, name)
	}
	res, err := actx.RunOn(ctx, cert.host, "ca_read", read)
	if err != nil || res.Failure != nil {
		return nil
	}
	files := FilesOf(res.Output)
	pair, err := tls.X509KeyPair(files[cert.CertPath], files[cert.KeyPath])
	if err != nil {
		return nil
	}
	return &pair
}
