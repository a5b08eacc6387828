package keyring

import (
	"strings"
	"testing"
	"time"
)

// TestDigests: a digest changes only with its file, and cannot be computed without
// the key of the cluster's CA.
func TestDigests(t *testing.T) {
	keys := newKeys(t)
	before := keys.Digests()
	files := keys.Files()
	files[EncryptionConf] = []byte(strings.Replace(string(files[EncryptionConf]), "name: key1", "name: key2", 1))
	changed, _, err := Complete(files, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, digest := range changed.Digests() {
		if same := digest == before[path]; same == (path == EncryptionConf) {
			t.Errorf("%s: the digest does not change: %v", path, same)
		}
		if strings.Contains(string(files[path]), digest) || len(digest) != 64 {
			t.Errorf("%s: the digest is %q", path, digest)
		}
	}
	other := newKeys(t)
	other.files[EncryptionConf] = files[EncryptionConf]
	if other.Digests()[EncryptionConf] == changed.Digests()[EncryptionConf] {
		t.Error("two clusters have the same digest of a file: it is not keyed")
	}
}
