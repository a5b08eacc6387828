package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/armor"
)

// Suffix ends the name of an encrypted file: group_vars/all.yaml.age.
const Suffix = ".age"

// The environment variables that [Environment] reads.
const (
	// KeyVariable has one identity, AGE-SECRET-KEY-1...; it is meant for CI.
	KeyVariable = "DEPLOYER_AGE_KEY"
	// FilesVariable lists files with identities, separated as in PATH.
	FilesVariable = "DEPLOYER_AGE_IDENTITIES"
)

// maxOpened is the maximum size in bytes of the content of an encrypted file.
const maxOpened = 16 << 20

// Keys opens encrypted files with the identities of their reader. The
// identities are read when the first file is opened. Keys is safe for concurrent
// use.
type Keys struct {
	text     string   // an identity itself
	files    []string // that hold identities
	optional bool     // files may be missing

	once sync.Once
	ids  []age.Identity
	err  error
}

// Environment finds the identities of the user: the key in KeyVariable, or the
// files of FilesVariable, or else those of DefaultFiles that exist.
func Environment(lookup func(string) (string, bool), home string) *Keys {
	if text, ok := lookup(KeyVariable); ok && text != "" {
		return &Keys{text: text}
	}
	if list, ok := lookup(FilesVariable); ok && list != "" {
		return &Keys{files: filepath.SplitList(list)}
	}
	return &Keys{files: DefaultFiles(home), optional: true}
}

// Files returns the identities of files, all of which must exist.
func Files(files ...string) *Keys { return &Keys{files: files} }

// DefaultFiles returns the files that Environment reads by default: the one that
// `deployer secrets keygen` writes, and SSH keys, which age can use too.
func DefaultFiles(home string) []string {
	return []string{
		filepath.Join(home, ".config", "deployer", "age.txt"),
		filepath.Join(home, ".ssh", "id_ed25519"),
		filepath.Join(home, ".ssh", "id_rsa"),
	}
}

// Open decrypts the content of a file, armored or not. name is for messages.
func (k *Keys) Open(name string, data []byte) ([]byte, error) {
	k.once.Do(func() { k.ids, k.err = k.read() })
	if k.err != nil {
		return nil, fmt.Errorf("opening %s: %w", name, k.err)
	}
	if len(k.ids) == 0 {
		return nil, fmt.Errorf("opening %s: there is no key: put one into %s, or name a file in %s", name, k.files[0], FilesVariable)
	}
	var in io.Reader = bytes.NewReader(data)
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(armor.Header)) {
		in = armor.NewReader(bytes.NewReader(bytes.TrimSpace(data)))
	}
	plain, err := age.Decrypt(in, k.ids...)
	var noMatch *age.NoIdentityMatchError
	if errors.As(err, &noMatch) {
		return nil, fmt.Errorf("opening %s: it is not encrypted to any key of yours (%s)", name, k.where())
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", name, err)
	}
	out, err := io.ReadAll(io.LimitReader(plain, maxOpened+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("opening %s: %w", name, err)
	case len(out) > maxOpened:
		return nil, fmt.Errorf("opening %s: it holds more than %d MiB", name, maxOpened>>20)
	}
	return out, nil
}

func (k *Keys) where() string {
	if k.text != "" {
		return KeyVariable
	}
	return strings.Join(k.files, ", ")
}

func (k *Keys) read() ([]age.Identity, error) {
	if k.text != "" {
		ids, err := age.ParseIdentities(strings.NewReader(k.text))
		if err != nil {
			return nil, fmt.Errorf("the environment variable %s holds no age identity; for the path of a file use %s", KeyVariable, FilesVariable) // the error may quote it
		}
		return ids, nil
	}
	var ids []age.Identity
	for _, file := range k.files {
		some, err := identities(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && k.optional:
		case err != nil && k.optional: // such as an SSH key with a passphrase
		case err != nil:
			return nil, err
		}
		ids = append(ids, some...)
	}
	return ids, nil
}

// identities reads a file of age identities, or an SSH private key.
func identities(file string) ([]age.Identity, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte("-----BEGIN")) {
		id, err := agessh.ParseIdentity(data)
		if err != nil {
			return nil, fmt.Errorf("%s: it is no SSH key without a passphrase", file)
		}
		return []age.Identity{id}, nil
	}
	ids, err := age.ParseIdentities(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: it holds no age identities", file) // the error may quote one
	}
	return ids, nil
}
