package keyring

import (
	"errors"
	"fmt"
	"time"
)

// Complete turns the files that the masters hold into complete keys, and makes
// what may be made. It returns the paths that were made, none when everything
// was there.
//
// Hosts write the files in the order of [Paths], the cluster's certificate
// last, and ask for certificates only after that. So when no master holds the
// cluster's certificate, nothing was ever signed and all that is missing is
// made: a new cluster, or one whose first install was cut short. When it is
// there, the cluster may live: then the authorities and the service-account
// key must be complete, and only what can be made again without harm is made:
// the front-proxy authority, a certificate whose key is there, and sa.pub.
//
// A missing encryption configuration is always made, because the files do not tell
// whether Secrets were encrypted with it: [Load] refuses where etcd has data.
func Complete(held Files, now time.Time) (*Keys, []string, error) {
	c := completion{files: Files{}, now: now, young: held[ClusterCert] == nil}
	for _, path := range Paths() {
		if held[path] != nil {
			c.files[path] = held[path]
		}
	}
	authorities := map[string]*Authority{}
	var errs []error
	for _, d := range domains() {
		a, err := c.authority(d)
		if err != nil {
			errs = append(errs, err)
		}
		authorities[d.name] = a
	}
	errs = append(errs, c.account(), c.encryption(), c.bgp())
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	var made []string
	for _, path := range Paths() {
		if held[path] == nil && c.files[path] != nil {
			made = append(made, path)
		}
	}
	return &Keys{authorities: authorities, files: c.files, made: made}, made, nil
}

// New makes the keys of a new cluster.
func New(now time.Time) (*Keys, error) {
	keys, _, err := Complete(nil, now)
	return keys, err
}

type completion struct {
	files Files
	now   time.Time
	young bool
}

func (c *completion) authority(d domain) (*Authority, error) {
	certPEM, keyPEM := c.files[d.certPath], c.files[d.keyPath]
	switch {
	case certPEM != nil && keyPEM != nil:
		return parseAuthority(d, certPEM, keyPEM, c.now)
	case certPEM != nil:
		return nil, fmt.Errorf("%s is there but no master holds its key; put %s back on one master", d.certPath, d.keyPath)
	case keyPEM != nil:
		return c.recertify(d, keyPEM)
	case !c.young && d.name != FrontProxy:
		return nil, fmt.Errorf("the cluster has %s but no master holds %s and its key; put both back on one master", ClusterCert, d.certPath)
	}
	a, err := newAuthority(d, c.now)
	if err != nil {
		return nil, err
	}
	c.files[d.certPath], c.files[d.keyPath] = a.certPEM, a.keyPEM
	return a, nil
}

func (c *completion) recertify(d domain, keyPEM []byte) (*Authority, error) {
	key, err := decodeKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.keyPath, err)
	}
	a, err := selfSign(d, key, keyPEM, c.now)
	if err != nil {
		return nil, err
	}
	c.files[d.certPath] = a.certPEM
	return a, nil
}

func (c *completion) account() error {
	keyPEM, pubPEM := c.files[AccountKey], c.files[AccountPub]
	if keyPEM == nil && (pubPEM != nil || !c.young) {
		return fmt.Errorf("no master holds %s, which signs the tokens of service accounts; restore it on one master", AccountKey)
	}
	if keyPEM == nil {
		made, err := newAccountKey()
		if err != nil {
			return err
		}
		keyPEM = made
	}
	pub, err := accountPublic(keyPEM, pubPEM)
	if err != nil {
		return err
	}
	c.files[AccountKey], c.files[AccountPub] = keyPEM, pub
	return nil
}

func (c *completion) encryption() error {
	if c.files[EncryptionConf] != nil {
		return checkEncryption(c.files[EncryptionConf])
	}
	made, err := newEncryption()
	c.files[EncryptionConf] = made
	return err
}

// parseAuthority reads an authority and refuses one that could not sign.
func parseAuthority(d domain, certPEM, keyPEM []byte, now time.Time) (*Authority, error) {
	cert, err := decodeCert(certPEM)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.certPath, err)
	}
	key, err := decodeKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.keyPath, err)
	}
	switch {
	case !samePublic(cert.PublicKey, key.Public()):
		return nil, fmt.Errorf("%s does not belong to %s; put the right key back on one master and remove the wrong one from the others", d.keyPath, d.certPath)
	case !cert.IsCA:
		return nil, fmt.Errorf("%s is not the certificate of an authority", d.certPath)
	case now.After(cert.NotAfter):
		return nil, fmt.Errorf("%s expired on %s; the authority must be rotated", d.certPath, cert.NotAfter.Format(time.DateOnly))
	}
	return &Authority{Name: d.name, Cert: cert, key: key, certPEM: certPEM, keyPEM: keyPEM}, nil
}
