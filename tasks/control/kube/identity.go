package kube

import (
	"crypto/tls"
	"time"

	"deployer/tasks/control/keyring"
)

// The client certificate of the controller.
// docs/decisions/2026-11-21-controller-identity.md gives the reasons for the group
// system:masters and the lifetime of one hour.
const (
	identityName  = "deployer"
	identityGroup = "system:masters"
	identityTTL   = time.Hour
	// identityRenew is the remaining lifetime below which the certificate is
	// replaced.
	identityRenew = 15 * time.Minute
)

// certificate returns the client certificate; a certificate that is about to expire
// is replaced.
func (a *Access) certificate(now time.Time) (*tls.Certificate, error) {
	a.identityMu.Lock()
	defer a.identityMu.Unlock()
	if a.identity != nil && now.Add(identityRenew).Before(a.identity.Leaf.NotAfter) {
		return a.identity, nil
	}
	identity, err := a.ring.Identity(keyring.Cluster, identityName, []string{identityGroup}, identityTTL, now)
	if err == nil {
		a.identity = identity
	}
	return identity, err
}
