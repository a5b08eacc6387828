package snapshot

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"deployer/tasks/control/keyring"
)

// MACSuffix ends the name of the file beside a snapshot that authenticates it.
const MACSuffix = ".mac"

// MaxMAC is the maximum size of such a file in bytes; it has some 300.
const MaxMAC = 4 << 10

// macFormat is the first line of the file. Scripts on hosts write it, too (etcd-backup.sh).
const macFormat = "deployer-etcd-backup 1"

// MAC describes a snapshot as it was saved, with a message authentication code by a key that only
// masters, members of etcd and the encrypted keys of a backup have. Its fields are the word of
// whoever wrote the file until Verify has returned nil.
type MAC struct {
	Name   string    // of the snapshot, without .db
	Saved  time.Time // in UTC, of the clock of whoever saved it
	Bytes  int64
	SHA256 string // of the file, in hex
	// Keys is the SHA-256, in hex, of the file with the encrypted keys of the cluster that was
	// saved with the snapshot: "none" without one, empty when the MAC does not say it.
	Keys string
	Key  string // fingerprint of the key
	code string // in hex
}

// text is what the code authenticates.
func (m MAC) text() string {
	keys := ""
	if m.Keys != "" {
		keys = "\nkeys " + m.Keys
	}
	return fmt.Sprintf("%s\nname %s\nsaved %s\nbytes %d\nsha256 %s%s\nkey %s", macFormat, m.Name, m.Saved.UTC().Format(time.RFC3339), m.Bytes, m.SHA256, keys, m.Key)
}

// Sign returns the content of the file for a snapshot.
func (m MAC) Sign(key keyring.BackupKey) string {
	m.Key = key.Fingerprint()
	return m.text() + "\nmac " + key.Sign(m.text()) + "\n"
}

// macLines matches the content of the file.
var macLines = regexp.MustCompile(`^` + macFormat + `\nname ([A-Za-z0-9][A-Za-z0-9._-]{0,200})\nsaved (\S+)\nbytes ([0-9]+)\nsha256 ([0-9a-f]{64})(?:\nkeys (none|[0-9a-f]{64}))?\nkey ([0-9a-f]{32})\nmac ([0-9a-f]{64})\n$`)

// ParseMAC reads the content of the file. It verifies nothing.
func ParseMAC(content string) (MAC, error) {
	if first, _, _ := strings.Cut(content, "\n"); strings.HasPrefix(first, "deployer-etcd-backup ") && first != macFormat {
		return MAC{}, errors.New("a newer version of deployer has written it: use that version")
	}
	found := macLines.FindStringSubmatch(content)
	if found == nil {
		return MAC{}, errors.New("it is damaged: it has not the lines that deployer writes")
	}
	saved, err := time.Parse(time.RFC3339, found[2])
	if err != nil {
		return MAC{}, fmt.Errorf("it is damaged: %w", err)
	}
	size, err := strconv.ParseInt(found[3], 10, 64)
	if err != nil {
		return MAC{}, fmt.Errorf("it is damaged: %w", err)
	}
	m := MAC{Name: found[1], Saved: saved.UTC(), Bytes: size, SHA256: found[4], Keys: found[5], Key: found[6], code: found[7]}
	if m.text()+"\nmac "+m.code+"\n" != content {
		return MAC{}, errors.New("it is damaged: it has not the lines that deployer writes")
	}
	return m, nil
}

// Verify fails unless the holder of the key has written the file.
func (m MAC) Verify(key keyring.BackupKey) error {
	switch {
	case key.Verify(m.text(), m.code):
		return nil
	case m.Key != key.Fingerprint():
		return fmt.Errorf("its MAC is by the key %s, and the cluster has %s: it is of another cluster, or of this one before its key of service accounts (sa.key) was replaced", m.Key, key.Fingerprint())
	}
	return errors.New("its MAC is forged: it does not belong to what the file says")
}

// Claim reads the MAC of a snapshot, which may be empty for none. Claim fails unless it is one of the
// content of the snapshot and, where name is not empty, of its name without .db. Whoever can
// write to the place of the snapshot can also write such a claim: Verify comes after it.
func Claim(content, name string, v Verified) (MAC, error) {
	if content == "" {
		return MAC{}, fmt.Errorf("it has no MAC: backups of earlier versions have none, and a copy needs the file NAME%s beside NAME.db", MACSuffix)
	}
	m, err := ParseMAC(content)
	switch {
	case err != nil:
		return MAC{}, fmt.Errorf("reading its MAC: %w", err)
	case m.SHA256 != v.SHA256 || m.Bytes != v.Bytes:
		return MAC{}, fmt.Errorf("its MAC is of other content: of %d bytes with the SHA-256 %s, and it has %d bytes with %s", m.Bytes, m.SHA256, v.Bytes, v.SHA256)
	case name != "" && m.Name != name:
		return MAC{}, m.misnamed(name)
	}
	return m, nil
}

// RequireKeys fails unless the file with the encrypted keys of the cluster, of which sha256 is the
// SHA-256 in hex, was saved with the snapshot: whoever can write to the place of both could present
// authentic keys of another time, such as those of an authority that was replaced because its key
// was stolen. An empty digest is that of keys from elsewhere, which are the word of the user.
func (m MAC) RequireKeys(sha256 string) error {
	switch {
	case sha256 == "" || sha256 == m.Keys:
		return nil
	case m.Keys == "" || m.Keys == NoKeys:
		return errors.New("its MAC names no file with keys: take a copy of the keys that you have elsewhere")
	}
	return fmt.Errorf("the file with the keys has the SHA-256 %s, and %s was saved with the snapshot: somebody has exchanged the keys", sha256, m.Keys)
}

// NoKeys is MAC.Keys of a snapshot without encrypted keys beside it.
const NoKeys = "none"

// Unproven is the error for a snapshot that is not authentic for a reason.
func Unproven(file string, reason error) error {
	return fmt.Errorf("nothing proves that %s is a backup of this cluster: %w. Whoever could write to its place may have planted objects in it, "+
		"such as rights of an administrator. Take another backup, or restore this one all the same with --unauthenticated", file, reason)
}

// misnamed is the error for a snapshot under another name than its own: a store may present an old
// one as the newest.
func (m MAC) misnamed(name string) error {
	return fmt.Errorf("it was saved as %s on %s, and is presented as %s: somebody has exchanged snapshots", m.Name, m.Saved.Format(time.DateTime), name)
}
