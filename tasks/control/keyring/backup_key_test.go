package keyring

import (
	"bytes"
	"maps"
	"testing"
)

// TestBackupKey: two clusters have different keys; the key of a cluster survives a rotation of its
// other keys, and a copy of its files with other white space.
func TestBackupKey(t *testing.T) {
	keys, others := newKeys(t), newKeys(t)
	key, err := keys.BackupKey()
	if err != nil || len(key) != 32 {
		t.Fatalf("%d bytes, %v", len(key), err)
	}
	foreign, err := others.BackupKey()
	if err != nil || bytes.Equal(key, foreign) || key.Fingerprint() == foreign.Fingerprint() {
		t.Errorf("two clusters have the key %s, %v", key.Fingerprint(), err)
	}
	rotated := maps.Clone(others.files)
	rotated[AccountKey] = append(keys.files[AccountKey], '\n')
	if same, err := BackupKeyOf(rotated); err != nil || !bytes.Equal(same, key) {
		t.Errorf("after a rotation the key is %s, %v; want %s", same.Fingerprint(), err, key.Fingerprint())
	}
	if _, err := BackupKeyOf(Files{}); err == nil {
		t.Error("without a key of service accounts there is a key of backups")
	}
	mac := key.Sign("text")
	if !key.Verify("text", mac) || key.Verify("other", mac) || foreign.Verify("text", mac) || key.Verify("text", "") {
		t.Error("a MAC is accepted for another text or key, or not for its own")
	}
}
