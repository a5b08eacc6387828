package keyring

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"deployer/cluster"
	"deployer/engine"
)

// newBGPPassword creates the password of the BGP sessions: 24 random bytes as base64,
// which is below the kernel's maximum of 80 bytes (TCP_MD5SIG_MAXKEYLEN) and needs no
// quoting.
func newBGPPassword() ([]byte, error) {
	raw := make([]byte, 24)
	if _, err := rand.Read(raw); err != nil {
		return nil, fmt.Errorf("making the password of the BGP sessions: %w", err)
	}
	return []byte(base64.RawURLEncoding.EncodeToString(raw) + "\n"), nil
}

// bgp creates the password for a cluster without running nodes. Both ends of a session
// need it, so a running cluster has none until the inventory requests it.
func (c *completion) bgp() error {
	if !c.young || c.files[BGPPassword] != nil {
		return nil
	}
	made, err := newBGPPassword()
	c.files[BGPPassword] = made
	return err
}

// bgpAsked adds the password to files when the inventory requests it and no master holds
// one. bgpAsked returns the path of the new file, or an empty text.
func bgpAsked(actx engine.ActionContext, files Files) ([]string, error) {
	c, ok := engine.Service[*cluster.Cluster](actx.Services())
	if !ok || c.Network.Authentication != cluster.AuthenticationMD5 || files[BGPPassword] != nil {
		return nil, nil
	}
	made, err := newBGPPassword()
	files[BGPPassword] = made
	return []string{BGPPassword}, err
}

// BGPPassword returns the password of the BGP sessions; empty when the cluster has none.
func (k *Keys) BGPPassword() string { return strings.TrimSpace(string(k.files[BGPPassword])) }
