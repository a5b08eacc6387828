package keyring

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Complete completes the files that the masters hold, and creates the ones that may be
// created. Complete returns the paths of the created files, none when all exist.
//
// Hosts write the files in the order of [Paths], the cluster's certificate last, and
// request certificates only after that. When no master holds the cluster's certificate,
// nothing was ever signed, so everything missing is created: a new cluster, or one whose
// first installation was interrupted. When the certificate exists, the cluster may be in
// use: then the authorities and the service-account key must be complete, and only files
// that can be recreated without harm are: the front-proxy authority, a certificate whose
// key exists, and sa.pub.
//
// A missing encryption configuration is always created, because the files do not show
// whether Secrets were encrypted with it: [Load] refuses it when etcd has data.
//
// New authorities are valid for the lifetime; 0 stands for ten years, as with kubeadm. The
// keys and certificates of external authorities are never created. optional are the names of the
// authorities that the cluster has and others do not; one whose files are held is kept, too.
func Complete(held Files, now time.Time, lifetime time.Duration, external External, optional ...string) (*Keys, []string, error) {
	c := completion{files: Files{}, now: now, lifetime: cmp.Or(lifetime, authorityValidity), external: external, young: held[ClusterCert] == nil}
	for _, path := range keptPaths() {
		if held[path] != nil {
			c.files[path] = held[path]
		}
	}
	authorities := map[string]*Authority{}
	var errs []error
	for _, d := range domains() {
		if d.optional && !slices.Contains(optional, d.name) && held[d.certPath] == nil && held[d.keyPath] == nil {
			continue
		}
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
	for _, path := range createdPaths() {
		if held[path] == nil && c.files[path] != nil {
			made = append(made, path)
		}
	}
	return &Keys{authorities: authorities, files: c.files, external: external, made: made}, made, nil
}

type completion struct {
	files Files
	now   time.Time
	young bool

	lifetime time.Duration // of new authorities
	external External
}

func (c *completion) authority(d domain) (*Authority, error) {
	if certificate, ok := c.external[d.name]; ok {
		c.files[d.certPath] = certificate
		return parseExternal(d, certificate)
	}
	certPEM, keyPEM := c.files[d.certPath], c.files[d.keyPath]
	switch {
	case certPEM != nil && keyPEM != nil:
		return c.parse(d)
	case certPEM != nil:
		return nil, fmt.Errorf("%s exists but no master holds its key; restore %s on one master, or name the certificate in cluster.certificates.external_authorities of the inventory", d.certPath, d.keyPath)
	case keyPEM != nil:
		return c.recertify(d, keyPEM)
	case !c.young && d.name != FrontProxy:
		return nil, fmt.Errorf("the cluster has %s but no master holds %s and its key; restore both on one master", ClusterCert, d.certPath)
	}
	a, err := newAuthority(d, c.now, c.lifetime)
	if err != nil {
		return nil, err
	}
	c.files[d.certPath], c.files[d.keyPath] = a.certPEM, a.keyPEM
	return a, nil
}

// parse parses an authority whose files exist, and corrects the files with which a phase
// of its rotation was interrupted.
func (c *completion) parse(d domain) (*Authority, error) {
	a, err := parseAuthority(d, c.files[d.certPath], c.files[d.keyPath], c.files[d.nextPath], c.now)
	if err != nil {
		return nil, err
	}
	c.files[d.certPath] = a.certPEM
	if a.next == nil {
		delete(c.files, d.nextPath)
	}
	return a, nil
}

func (c *completion) recertify(d domain, keyPEM []byte) (*Authority, error) {
	key, err := decodeKey(keyPEM)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.keyPath, err)
	}
	a, err := selfSign(d, key, keyPEM, c.now, c.lifetime)
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
