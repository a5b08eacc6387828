package kube

import (
	"crypto/tls"
	"time"

	"deployer/tasks/control/keyring"
)

// The controller's own identity towards the API. See
// docs/decisions/2026-11-21-controller-identity.md for why it is in
// system:masters and lasts one hour.
const (
	identityName  = "deployer"
	identityGroup = "system:masters"
	identityTTL   = time.Hour
	// It is made anew when less than this is left of it.
	identityRenew = 15 * time.Minute
)

// certificate returns the identity, made anew when it is about to end.
func (a *Access) certificate(now time.Time) (*tls.Certificate, error) {
	a.identityMu.Lock()
	defer a.identityMu.Unlock()
	if a.identity != nil && now.Add(identityRenew).Before(a.identity.Leaf.NotAfter) {
		return a.identity, nil
	}
	keys, err := a.ring.Keys()
	if err != nil {
		return nil, err
	}
	a.identity, err = keys.Identity(keyring.Cluster, identityName, []string{identityGroup}, identityTTL, now)
	return a.identity, err
}
