package snapshot

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage/value"
	"k8s.io/apiserver/pkg/storage/value/encrypt/secretbox"

	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/keyring"
)

// write is one change of a key; an empty value deletes the key.
type write struct{ key, value string }

// save writes a snapshot of some writes, with the digest at its end.
func save(t *testing.T, writes ...write) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket(keyBucket)
		for i, w := range writes {
			revision := binary.BigEndian.AppendUint64(nil, uint64(i+2))
			revision = binary.BigEndian.AppendUint64(append(revision, '_'), 0)
			if w.value == "" {
				revision = append(revision, 't')
			}
			kv := mvccpb.KeyValue{Key: []byte(w.key), Value: []byte(w.value)}
			data, failed := kv.Marshal()
			if err == nil {
				err = failed
			}
			if err == nil {
				err = b.Put(revision, data)
			}
		}
		return err
	})
	if err != nil || db.Close() != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if err := os.WriteFile(path, append(data, sum[:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// newKeys returns the keys of a new cluster, and a function that encrypts like its
// API server.
func newKeys(t *testing.T) (*keyring.Keys, func(key, text string) string) {
	t.Helper()
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var secret string
	for line := range strings.Lines(string(keys.Files()[keyring.EncryptionConf])) {
		if _, text, found := strings.Cut(line, "secret: "); found {
			secret = strings.TrimSpace(text)
		}
	}
	transform := secretbox.NewSecretboxTransformer([32]byte(decode(t, secret)))
	return keys, func(key, text string) string {
		out, err := transform.TransformToStorage(t.Context(), []byte(text), value.DefaultContext(key))
		if err != nil {
			t.Fatal(err)
		}
		return "k8s:enc:secretbox:v1:key1:" + string(out)
	}
}

// node returns a Node object as API servers store it.
func node(t *testing.T, name, cidr string) string {
	t.Helper()
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: cidr}}
	raw, err := n.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	data, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Node"}, Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return "k8s\x00" + string(data)
}

// readContent reads the content of a file with keys.
func readContent(path string, keys keyring.Files) (Content, error) {
	f, err := Open(path)
	if err != nil {
		return Content{}, err
	}
	defer f.Close()
	return f.Read(keys)
}

const web, db = "/registry/secrets/default/web", "/registry/secrets/default/db"

func TestContentOfASnapshot(t *testing.T) {
	t.Parallel()
	keys, encrypt := newKeys(t)
	_, encryptFormer := newKeys(t)
	path := save(t,
		write{db, encryptFormer(db, "a former value, which does not count")},
		write{"/registry/secrets/default/gone", encryptFormer("", "a deleted one neither")},
		write{db, encrypt(db, "k8s")},
		write{"/registry/secrets/default/gone", ""},
		write{web, encrypt(web, "k8s")},
		write{rootCA, "k8s\x00" + string(keys.Files()[keyring.ClusterCert]) + "\x12"},
		write{nodesPrefix + "m1", node(t, "m1", "10.0.3.0/24")},
		write{nodesPrefix + "m2", node(t, "m2", "")},
		write{nodesPrefix + "m3", "k8s\x00nonsense"},
	)
	ring := &keyring.Keyring{}
	if err := ring.Fill(keys); err != nil {
		t.Fatal(err)
	}
	s := &actiontest.Context{Provided: engine.Services{}}
	engine.Provide(s.Provided, ring)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	change, err := (&Check{File: path, SHA256: hex.EncodeToString(sum[:])}).Check(t.Context(), s)
	if err != nil || change.Needed {
		t.Fatalf("%+v, %v", change, err)
	}
	want := engine.Output{"revision": int64(10), "keys": 6, "bytes": int64(len(content)), "encrypted": 2, "pod_cidrs": map[string]any{"m1": "10.0.3.0/24"}, "saved": ""}
	if diff := cmp.Diff(want, change.Output); diff != "" {
		t.Error(diff)
	}
}

// TestKeysOfAnotherCluster: keys that do not decrypt Secrets, and another authority, are
// refused, unless they are ignored.
func TestKeysOfAnotherCluster(t *testing.T) {
	t.Parallel()
	keys, encrypt := newKeys(t)
	others, _ := newKeys(t)
	secrets := save(t, write{web, encrypt(web, "k8s")}, write{"/registry/pods/default/x", "k8s"})
	authority := save(t, write{rootCA, "k8s" + string(keys.Files()[keyring.ClusterCert])})
	for path, want := range map[string]string{
		secrets:   "do not decrypt 1 of its 1 encrypted values, such as " + web + ": k8s:enc:secretbox:v1:key1 ",
		authority: "its cluster has the authority with the fingerprint sha256:",
	} {
		if _, err := readContent(path, keys.Files()); err != nil {
			t.Errorf("its own keys: %v", err)
		}
		if _, err := readContent(path, others.Files()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := (&Check{File: path, IgnoreKeys: true}).Check(t.Context(), &actiontest.Context{}); err != nil {
			t.Errorf("ignored: %v", err)
		}
	}
}

// TestSnapshotThatChanged: a restore does not continue with a file other than the one
// that it began with.
func TestSnapshotThatChanged(t *testing.T) {
	t.Parallel()
	first, second := save(t, write{web, "x"}), save(t, write{web, "y"})
	verified, err := Verify(first)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Check{File: first, SHA256: verified.SHA256, IgnoreKeys: true}).Check(t.Context(), &actiontest.Context{}); err != nil {
		t.Error(err)
	}
	_, err = (&Check{File: second, SHA256: verified.SHA256, IgnoreKeys: true}).Check(t.Context(), &actiontest.Context{})
	if err == nil || !strings.Contains(err.Error(), "another file than the one with which the restore began") || !strings.Contains(err.Error(), verified.SHA256) {
		t.Errorf("another snapshot: %v", err)
	}
}

// TestAuthorityThatWasRotated: keys that decrypt are those of the cluster.
func TestAuthorityThatWasRotated(t *testing.T) {
	t.Parallel()
	keys, encrypt := newKeys(t)
	former, _ := newKeys(t)
	path := save(t, write{web, encrypt(web, "k8s")}, write{rootCA, "k8s" + string(former.Files()[keyring.ClusterCert])})
	if _, err := readContent(path, keys.Files()); err != nil {
		t.Error(err)
	}
}

// TestDamagedSnapshots: a file that differs from what etcd has written is refused.
func TestDamagedSnapshots(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile(save(t, write{web, "x"}))
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte{}, good...)
	damaged[len(damaged)/2] ^= 1
	for name, tt := range map[string]struct {
		content []byte
		want    string
	}{
		"complete file":             {good, ""},
		"one bit flipped":           {damaged, "is damaged"},
		"truncated file":            {good[:len(good)-512], "is damaged"},
		"file without its checksum": {good[:len(good)-sha256.Size], "no whole snapshot"},
		"another kind of file":      {[]byte("hello"), "no whole snapshot"},
		"empty":                     {nil, "no whole snapshot"},
	} {
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, tt.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Verify(path); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if _, err := Verify("/none"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing file: %v", err)
	}
}

func decode(t *testing.T, text string) []byte {
	t.Helper()
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
