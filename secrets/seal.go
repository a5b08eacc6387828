package secrets

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"filippo.io/age/armor"
)

// RecipientsFile lists, a line each, the public keys that files in its directory
// and below are encrypted to: age1..., ssh-ed25519 ..., ssh-rsa ....
const RecipientsFile = ".age-recipients"

// Recipients finds the nearest RecipientsFile at or above dir and reads it.
func Recipients(dir string) ([]age.Recipient, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for {
		file := filepath.Join(at, RecipientsFile)
		data, err := os.ReadFile(file)
		switch {
		case err == nil:
			return ParseRecipients(file, string(data))
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		case at == filepath.Dir(at):
			return nil, fmt.Errorf("there is no %s at or above %s: write into it, a line each, the public keys of those who may read", RecipientsFile, dir)
		}
		at = filepath.Dir(at)
	}
}

// ParseRecipients reads public keys, a line each; ParseRecipients ignores empty
// lines and comments. name is for messages.
func ParseRecipients(name, text string) ([]age.Recipient, error) {
	var out []age.Recipient
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := recipient(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %q is no public key of age or SSH: %w", name, i+1, line, err)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: it names no public key", name)
	}
	return out, nil
}

func recipient(line string) (age.Recipient, error) {
	if strings.HasPrefix(line, "ssh-") {
		return agessh.ParseRecipient(line)
	}
	return age.ParseX25519Recipient(line)
}

// Seal encrypts content to recipients. The result is armored, which is plain text.
func Seal(content []byte, to []age.Recipient) ([]byte, error) {
	var out bytes.Buffer
	text := armor.NewWriter(&out)
	w, err := age.Encrypt(text, to...)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := errors.Join(w.Close(), text.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Generate returns a new identity: the content of an identity file, and the public
// key that goes into RecipientsFile.
func Generate() (file, public string, err error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return "", "", err
	}
	public = id.Recipient().String()
	return fmt.Sprintf("# public key: %s\n%s\n", public, id), public, nil
}
