package ssh

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	gossh "golang.org/x/crypto/ssh"
)

// keyStore parses each key file once.
type keyStore struct {
	passphrase func(path string, wrong int) ([]byte, error)
	agents     agents

	mu     sync.Mutex // also held during a passphrase prompt: one prompt at a time
	files  map[string][]gossh.Signer
	locked map[string]error // files without a valid passphrase, with the error
}

// usualKeys returns the existing key files with OpenSSH's default names.
func usualKeys() []string {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	var found []string
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		path := filepath.Join(home, ".ssh", name)
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	return found
}

// fromFile loads a key file, and the certificate beside it if there is one. An
// encrypted key that the agent holds too is left to the agent, and so is a key of
// which only the public half exists. ask permits a passphrase prompt.
func (s *keyStore) fromFile(path string, held []gossh.Signer, ask bool) ([]gossh.Signer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if signers := s.files[path]; signers != nil {
		return signers, nil
	}
	signer, err := s.read(path, held, ask)
	if err != nil {
		return nil, err
	}
	signers, err := withCertificate(path, signer)
	if err != nil {
		return nil, err
	}
	if s.files == nil {
		s.files = map[string][]gossh.Signer{}
	}
	s.files[path] = signers
	return signers, nil
}

func (s *keyStore) read(path string, held []gossh.Signer, ask bool) (gossh.Signer, error) {
	pem, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		if public, _ := readPublic(path + ".pub"); public != nil {
			return ofAgent(path+".pub", public, held)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the private key: %w", err)
	}
	if public, _, _, _, err := gossh.ParseAuthorizedKey(pem); err == nil {
		return ofAgent(path, public, held)
	}
	signer, err := gossh.ParsePrivateKey(pem)
	var locked *gossh.PassphraseMissingError
	if errors.As(err, &locked) {
		signer, err = s.unlock(path, pem, locked.PublicKey, held, ask)
	}
	if err != nil {
		return nil, fmt.Errorf("private key %s: %w", path, err)
	}
	return signer, nil
}

func ofAgent(path string, public gossh.PublicKey, held []gossh.Signer) (gossh.Signer, error) {
	if signer := find(held, public); signer != nil {
		return signer, nil
	}
	return nil, fmt.Errorf("%s is a public key, and no SSH agent holds its private half: add it (ssh-add)", path)
}

func (s *keyStore) unlock(path string, pem []byte, public gossh.PublicKey, held []gossh.Signer, ask bool) (gossh.Signer, error) {
	if public == nil { // an old PEM file does not contain the public key
		public, _ = readPublic(path + ".pub")
	}
	if public != nil {
		if signer := find(held, public); signer != nil {
			return signer, nil
		}
	}
	switch {
	case s.passphrase == nil:
		return nil, errors.New("it is encrypted and no terminal can ask for its passphrase: add it to an SSH agent (ssh-add)")
	case !ask:
		return nil, errors.New("it is encrypted: add it to an SSH agent (ssh-add), or name it in ssh.key to be asked for its passphrase")
	case s.locked[path] != nil:
		return nil, s.locked[path]
	}
	signer, err := s.askFor(path, pem)
	if err != nil {
		if s.locked == nil {
			s.locked = map[string]error{}
		}
		s.locked[path] = err
	}
	return signer, err
}

// maxPassphrases is the number of passphrase prompts for a key, as with ssh(1).
const maxPassphrases = 3

func (s *keyStore) askFor(path string, pem []byte) (gossh.Signer, error) {
	for wrong := 0; ; wrong++ {
		secret, err := s.passphrase(path, wrong)
		if err != nil {
			return nil, fmt.Errorf("it is encrypted: %w", err)
		}
		signer, err := gossh.ParsePrivateKeyWithPassphrase(pem, secret)
		if !errors.Is(err, x509.IncorrectPasswordError) {
			return signer, err
		}
		if wrong+1 == maxPassphrases {
			return nil, errors.New("it is encrypted, and the passphrase is wrong")
		}
	}
}

func readPublic(path string) (gossh.PublicKey, error) {
	line, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, _, _, _, err := gossh.ParseAuthorizedKey(line)
	return key, err
}

// withCertificate returns the key's certificate before the key, like ssh(1): a
// server may accept either.
func withCertificate(path string, signer gossh.Signer) ([]gossh.Signer, error) {
	cert, err := readCertificate(strings.TrimSuffix(path, ".pub") + "-cert.pub")
	if errors.Is(err, fs.ErrNotExist) {
		return []gossh.Signer{signer}, nil
	}
	if err != nil {
		return nil, err
	}
	certified, err := gossh.NewCertSigner(cert, signer)
	if err != nil {
		return nil, fmt.Errorf("certificate %s-cert.pub: %w", strings.TrimSuffix(path, ".pub"), err)
	}
	return []gossh.Signer{certified, signer}, nil
}

func readCertificate(path string) (*gossh.Certificate, error) {
	key, err := readPublic(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("reading the certificate of a key: %w", err)
	}
	cert, ok := key.(*gossh.Certificate)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s is not an SSH certificate", path)
	}
	return cert, nil
}
