package etcd

import (
	"context"
	"crypto/tls"
	"strconv"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/keyring"
)

// identityTTL is the validity of the controller's client certificate; each action
// creates its own.
const identityTTL = time.Hour

// opener connects to members of an etcd cluster with an identity of the run's keyring; see [OpenWith].
func opener(ctx context.Context, actx engine.ActionContext, e cluster.Etcd) (Opener, error) {
	ring, err := keyring.Of(actx)
	if _, provided := engine.Service[Opener](actx.Services()); err != nil && !provided {
		return nil, err
	}
	return OpenWith(ctx, actx, ring, e)
}

// OpenWith returns an opener for the members of an etcd cluster that authenticates with the keys of
// ring, as the user that the etcd cluster gives to deployer, or the Opener that the program has set.
func OpenWith(ctx context.Context, actx engine.ActionContext, ring *keyring.Keyring, e cluster.Etcd) (Opener, error) {
	if open, ok := engine.Service[Opener](actx.Services()); ok {
		return open, nil
	}
	keys, err := ring.Keys()
	if err != nil {
		return nil, err
	}
	authority, err := keys.Authority(e.Authority)
	if err != nil {
		return nil, err
	}
	if err := keyring.LoadIdentity(ctx, actx, ring, e.Authority, time.Now()); err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authority.Pool()}
	identity, err := ring.Identity(e.Authority, e.User, nil, identityTTL, time.Now())
	switch {
	case err == nil:
		config.Certificates = []tls.Certificate{*identity}
	case authority.External(): // no member serves before it has its certificates, as in a new cluster
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return nil, err }
	default:
		return nil, err
	}
	return Open(actx.Dial, config), nil
}

// Member IDs are text in variables, because a JSON number cannot hold them.
func formatID(id uint64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatUint(id, 16)
}

// ParseID returns the ID of a member in hexadecimal; 0 for an empty text.
func ParseID(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.ParseUint(text, 16, 64)
}
