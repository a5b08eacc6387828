package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine/transport"
)

// credentials are the keys to offer to a server, in order.
type credentials struct {
	signers []gossh.Signer
	// passed has the reasons why configured keys were skipped.
	passed []string
}

// collect finds the keys for a target. Keys of files come before keys of the SSH agent:
// servers limit the number of tries (MaxAuthTries, 6 in OpenSSH), and an agent may hold
// more keys.
func (s *keyStore) collect(t Target) (credentials, error) {
	var c credentials
	held, err := s.agents.held(t)
	if err != nil {
		c.passed = append(c.passed, err.Error())
	}
	if t.Keys != nil {
		err = c.read(s, t.Keys, held, t.LaxKeys, true)
	} else {
		err = c.usual(s, held, t.Password != "")
	}
	if err != nil {
		return c, err
	}
	all := append(c.signers[:len(c.signers):len(c.signers)], without(held, c.signers)...)
	certified, err := certify(t.Certificates, all)
	if err != nil {
		return c, err
	}
	if !t.KeysOnly {
		c.signers = all
	}
	c.signers = append(certified, c.signers...)
	if t.Password != "" && len(c.signers) >= manyKeys {
		c.signers = c.signers[:manyKeys-1] // one try is for the password
	}
	if len(c.signers) == 0 && t.Password == "" {
		return c, errors.New("no private key and no password: set ssh.key, start an SSH agent that holds a key (SSH_AUTH_SOCK), or give --ask-pass" + c.notes())
	}
	return c, nil
}

// read loads key files; all must be usable unless lax.
func (c *credentials) read(s *keyStore, paths []string, held []gossh.Signer, lax, ask bool) error {
	for _, path := range paths {
		of, err := s.fromFile(path, held, ask)
		if err != nil && !lax {
			return err
		}
		if err != nil {
			c.passed = append(c.passed, err.Error())
		}
		c.signers = append(c.signers, without(of, c.signers)...)
	}
	return nil
}

// usual loads the keys with OpenSSH's default names. The user has not named them, so
// their passphrases are only prompted for when there is no other way to log in.
func (c *credentials) usual(s *keyStore, held []gossh.Signer, other bool) error {
	paths, before := usualKeys(), len(c.passed)
	err := c.read(s, paths, held, true, false)
	if len(c.signers)+len(held) > 0 || other {
		return err
	}
	c.passed = c.passed[:before]
	return c.read(s, paths, held, true, true)
}

// methods are the ways to show them.
func (c credentials) methods() []gossh.AuthMethod {
	if len(c.signers) == 0 {
		return nil
	}
	return []gossh.AuthMethod{gossh.PublicKeys(c.signers...)}
}

func (c credentials) notes() string {
	if len(c.passed) == 0 {
		return ""
	}
	return "; not used: " + strings.Join(c.passed, "; ")
}

// manyKeys is the number of keys from which OpenSSH's server may stop before it has
// seen all (MaxAuthTries 6).
const manyKeys = 6

// refused returns the error for a server that accepts none of the keys.
func (c credentials) refused(t Target, err error) *transport.Error {
	e := &transport.Error{Host: t.Host, Stage: transport.StageAuth, Kind: transport.Auth, Err: fmt.Errorf("as user %s: %w%s", t.Login(), err, c.notes())}
	if len(c.signers) >= manyKeys {
		e.Advice = fmt.Sprintf("servers look at few keys, and there are %d: set ssh.key to the right one, or check ssh.user and authorized_keys on the host", len(c.signers))
	}
	return e
}

// certify returns signers for the certificates in files, each with its key.
func certify(files []string, keys []gossh.Signer) ([]gossh.Signer, error) {
	var out []gossh.Signer
	for _, file := range files {
		cert, err := readCertificate(file)
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			if !bytes.Equal(k.PublicKey().Marshal(), cert.Key.Marshal()) {
				continue
			}
			certified, err := gossh.NewCertSigner(cert, k)
			if err != nil {
				return nil, fmt.Errorf("certificate %s: %w", file, err)
			}
			out = append(out, certified)
			break
		}
	}
	return out, nil
}

// without returns the signers of a list whose keys another one does not have.
func without(list, other []gossh.Signer) []gossh.Signer {
	return slices.DeleteFunc(slices.Clone(list), func(s gossh.Signer) bool { return find(other, s.PublicKey()) != nil })
}

// find returns the signer of a public key; nil when there is none.
func find(signers []gossh.Signer, key gossh.PublicKey) gossh.Signer {
	for _, s := range signers {
		if bytes.Equal(s.PublicKey().Marshal(), key.Marshal()) {
			return s
		}
	}
	return nil
}
