package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// keyStore parses key files once and talks to the SSH agent.
type keyStore struct {
	passphrase func(path string) ([]byte, error)
	socket     string

	mu     sync.Mutex // also held while a passphrase is asked for: one at a time
	files  map[string][]gossh.Signer
	agent  net.Conn
	held   []gossh.Signer // by the agent
	asked  bool           // whether the agent was asked
	agents error
}

// auth returns the one public-key method for a target: x/crypto/ssh tries each
// method once, so all keys are in it. Keys of files come first, as servers
// bound the number of tries (six in OpenSSH) and an agent may hold many.
func (s *keyStore) auth(t Target) (gossh.AuthMethod, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	paths := t.Keys
	if len(paths) == 0 {
		paths = usualKeys()
	}
	var held []gossh.Signer
	var agentErr error
	if !t.NoAgent {
		held, agentErr = s.fromAgent()
	}
	var signers []gossh.Signer
	for _, path := range paths {
		of, err := s.fromFile(path, held)
		if err != nil {
			return nil, err
		}
		signers = append(signers, of...)
	}
	signers = append(signers, without(held, signers)...)
	if len(signers) == 0 {
		err := errors.New("no private key: set ssh.key, or start an SSH agent that holds one (SSH_AUTH_SOCK)")
		return nil, errors.Join(err, agentErr)
	}
	return gossh.PublicKeys(signers...), nil
}

// usualKeys are the files that ssh(1) looks for, as far as they exist.
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

// fromFile reads a key file, and its certificate if there is one beside it. An
// encrypted key that the agent holds too is left to the agent.
func (s *keyStore) fromFile(path string, held []gossh.Signer) ([]gossh.Signer, error) {
	if signers := s.files[path]; signers != nil {
		return signers, nil
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the private key: %w", err)
	}
	signer, err := gossh.ParsePrivateKey(pem)
	var locked *gossh.PassphraseMissingError
	if errors.As(err, &locked) {
		signer, err = s.unlock(path, pem, locked.PublicKey, held)
	}
	if err != nil {
		return nil, fmt.Errorf("private key %s: %w", path, err)
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

func (s *keyStore) unlock(path string, pem []byte, public gossh.PublicKey, held []gossh.Signer) (gossh.Signer, error) {
	if public == nil { // an old PEM file does not say its public key
		if line, err := os.ReadFile(path + ".pub"); err == nil {
			public, _, _, _, _ = gossh.ParseAuthorizedKey(line)
		}
	}
	for _, h := range held {
		if public != nil && bytes.Equal(h.PublicKey().Marshal(), public.Marshal()) {
			return h, nil
		}
	}
	if s.passphrase == nil {
		return nil, errors.New("it is encrypted and there is nobody to ask for its passphrase: add it to an SSH agent (ssh-add)")
	}
	secret, err := s.passphrase(path)
	if err != nil {
		return nil, fmt.Errorf("asking for its passphrase: %w", err)
	}
	return gossh.ParsePrivateKeyWithPassphrase(pem, secret)
}

// withCertificate puts the key's certificate before it, like ssh(1): a server
// may take either.
func withCertificate(path string, signer gossh.Signer) ([]gossh.Signer, error) {
	name := strings.TrimSuffix(path, ".pub") + "-cert.pub"
	line, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return []gossh.Signer{signer}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of the key: %w", err)
	}
	key, _, _, _, err := gossh.ParseAuthorizedKey(line)
	cert, ok := key.(*gossh.Certificate)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s is not an SSH certificate", name)
	}
	certified, err := gossh.NewCertSigner(cert, signer)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	return []gossh.Signer{certified, signer}, nil
}

// fromAgent returns the keys that the agent holds; it is asked once.
func (s *keyStore) fromAgent() ([]gossh.Signer, error) {
	if s.asked || s.socket == "" {
		return s.held, s.agents
	}
	s.asked = true
	conn, err := net.Dial("unix", s.socket)
	if err == nil {
		s.agent = conn
		s.held, err = agent.NewClient(conn).Signers()
	}
	if err != nil {
		s.agents = fmt.Errorf("asking the SSH agent at %s: %w", s.socket, err)
	}
	return s.held, s.agents
}

func without(all, taken []gossh.Signer) []gossh.Signer {
	var rest []gossh.Signer
	for _, a := range all {
		known := false
		for _, t := range taken {
			known = known || bytes.Equal(a.PublicKey().Marshal(), t.PublicKey().Marshal())
		}
		if !known {
			rest = append(rest, a)
		}
	}
	return rest
}

func (s *keyStore) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.agent == nil {
		return nil
	}
	return s.agent.Close()
}
