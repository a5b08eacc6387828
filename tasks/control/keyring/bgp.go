package keyring

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"deployer/cluster"
	"deployer/engine"
)

// newBGPPassword makes the password of the BGP sessions: 24 random bytes as
// base64, which is below the 80 bytes that a kernel takes (TCP_MD5SIG_MAXKEYLEN)
// and needs no quoting.
func newBGPPassword() ([]byte, error) {
	raw := make([]byte, 24)
	if _, err := rand.Read(raw); err != nil {
		return nil, fmt.Errorf("making the password of the BGP sessions: %w", err)
	}
	return []byte(base64.RawURLEncoding.EncodeToString(raw) + "\n"), nil
}

// bgp makes the password for a cluster that nothing runs in yet. Both ends of a
// session must have it, so one that lives goes on without until the inventory
// asks for it.
func (c *completion) bgp() error {
	if !c.young || c.files[BGPPassword] != nil {
		return nil
	}
	made, err := newBGPPassword()
	c.files[BGPPassword] = made
	return err
}

// bgpAsked makes the password into files when the inventory asks for one and no
// master holds it, and returns its path then.
func bgpAsked(site engine.ActionContext, files Files) ([]string, error) {
	c, ok := engine.Service[*cluster.Cluster](site.Services())
	if !ok || c.Network.Authentication != cluster.AuthenticationMD5 || files[BGPPassword] != nil {
		return nil, nil
	}
	made, err := newBGPPassword()
	files[BGPPassword] = made
	return []string{BGPPassword}, err
}

// BGPPassword returns the password of the BGP sessions; empty when the cluster
// has none.
func (k *Keys) BGPPassword() string { return strings.TrimSpace(string(k.files[BGPPassword])) }
