package repository

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// The variables of the environment that name the keys of the state.
const (
	KeyVariable     = "DEPLOYER_CI_STATE_KEY"      // the keys themselves
	KeyFileVariable = "DEPLOYER_CI_STATE_KEY_FILE" // a file with them
)

const (
	privatePrefix = "DEPLOYER-CI-STATE-KEY-"
	publicPrefix  = "ed25519:"
)

// Keys are the keys with which a service signs the state of clusters. The first one signs;
// states that any of them has signed are authentic. Keys are safe for concurrent use.
type Keys struct {
	mu   sync.Mutex
	list []ed25519.PrivateKey
	// source says where the keys are, for messages. file is the path of that place when a key may
	// be created there; empty otherwise.
	source, file string
}

// OpenKeys reads the keys from the environment or, when it names none, from the file
// ci-state.key in the directory of the user's configuration. A file that does not exist has no
// keys, and gets one when the first state is signed.
func OpenKeys(getenv func(string) string) (k *Keys, err error) {
	if text := getenv(KeyVariable); text != "" {
		k := &Keys{source: "$" + KeyVariable}
		k.list, err = parseKeys(k.source, text)
		return k, err
	}
	if path := getenv(KeyFileVariable); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading the key of the state ($%s): %w", KeyFileVariable, err)
		}
		k := &Keys{source: path}
		k.list, err = parseKeys(path, string(text))
		return k, err
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return &Keys{source: "$" + KeyVariable}, nil //nolint:nilerr // a user without a home directory has no file of keys
	}
	return OpenKeyFile(filepath.Join(dir, "deployer", "ci-state.key"))
}

// OpenKeyFile reads the keys of a file, which only its owner may read.
func OpenKeyFile(path string) (*Keys, error) {
	k := &Keys{source: path, file: path}
	return k, k.read()
}

// read reads the file of the keys; without a file there are none.
func (k *Keys) read() error {
	f, err := os.Open(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the key of the state: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the key of the state %s can be read or written by others than its owner (mode %04o): run chmod 600 %[1]s, and deployer ci state rotate if others may have read it", k.file, info.Mode().Perm())
	}
	text, err := io.ReadAll(f)
	if err == nil {
		k.list, err = parseKeys(k.file, string(text))
	}
	return err
}

// loaded returns the keys. A run that began when there was no file reads the one that a run before
// it has created. The caller holds mu.
func (k *Keys) loaded() ([]ed25519.PrivateKey, error) {
	if len(k.list) > 0 || k.file == "" {
		return k.list, nil
	}
	err := k.read()
	return k.list, err
}

// parseKeys reads keys, one in each line; source is used in messages.
func parseKeys(source, text string) (list []ed25519.PrivateKey, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		seed, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(line, privatePrefix))
		if err != nil || len(seed) != ed25519.SeedSize || !strings.HasPrefix(line, privatePrefix) {
			return nil, fmt.Errorf("%s: line %d is no key of the state, such as deployer ci state keygen prints", source, n)
		}
		list = append(list, ed25519.NewKeyFromSeed(seed))
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no key of the state; deployer ci state keygen prints one", source)
	}
	return list, nil
}

// NewKey returns a new key in the form of a line of a file of keys, and its public key.
func NewKey() (line, public string) {
	pub, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // crypto/rand ends the program before it returns an error
	}
	return keyLine(private), publicKey(pub)
}

func keyLine(k ed25519.PrivateKey) string {
	return privatePrefix + base64.RawURLEncoding.EncodeToString(k.Seed())
}

func publicKey(k ed25519.PublicKey) string {
	return publicPrefix + base64.StdEncoding.EncodeToString(k)
}

// Source says where the keys are or would be, for messages.
func (k *Keys) Source() string { return k.source }

// Public returns the public keys, that of the signing key first.
func (k *Keys) Public() (out []string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list, err := k.loaded()
	for _, private := range list {
		out = append(out, publicKey(private.Public().(ed25519.PublicKey)))
	}
	return out, err
}

// Ensure creates a key when there is none, and returns the public keys.
func (k *Keys) Ensure() ([]string, error) {
	if _, err := k.signing(); err != nil {
		return nil, err
	}
	return k.Public()
}

// Secrets returns the lines of the keys that were read, for redaction.
func (k *Keys) Secrets() (out []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, private := range k.list {
		out = append(out, keyLine(private))
	}
	return out
}

// signing returns the key that signs, and creates one when there is none.
func (k *Keys) signing() (ed25519.PrivateKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list, err := k.loaded()
	if err == nil && len(list) == 0 {
		if err = k.add(os.Link); errors.Is(err, fs.ErrExist) { // another process was faster
			_, err = k.loaded()
		}
	}
	if err != nil {
		return nil, err
	}
	return k.list[0], nil
}

// Add creates a key, which signs from now on. The former keys stay, so that what they have signed
// is authentic until it is signed again; see Forget.
func (k *Keys) Add() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, err := k.loaded(); err != nil {
		return err
	}
	return k.add(os.Rename)
}

// Forget removes all keys but the one that signs.
func (k *Keys) Forget() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.write(k.list[:min(1, len(k.list))], os.Rename)
}

func (k *Keys) add(place func(from, to string) error) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	return k.write(append([]ed25519.PrivateKey{private}, k.list...), place)
}

// write writes the file of the keys; place is os.Rename, or os.Link for a file that must not exist.
func (k *Keys) write(list []ed25519.PrivateKey, place func(from, to string) error) error {
	if k.file == "" {
		return fmt.Errorf("the keys of the state are in %s, which deployer cannot change: deployer ci state keygen prints a key to put before the others", k.source)
	}
	var text strings.Builder
	text.WriteString("# Keys of deployer ci: the first one signs the state of clusters, all are accepted.\n# Keep them secret, and outside of the repository.\n")
	for _, private := range list {
		text.WriteString(keyLine(private) + "\n")
	}
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return fmt.Errorf("writing the key of the state: %w", err)
	}
	if err := writeFile(k.file, text.String(), place); err != nil {
		return fmt.Errorf("writing the key of the state: %w; without a home directory, set $%s", err, KeyVariable)
	}
	k.list = list
	return nil
}
