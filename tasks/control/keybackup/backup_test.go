package keybackup

import (
	"archive/tar"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/engine"
	"deployer/secrets"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/keyring"
)

// newKeys returns the keys of a new cluster.
func newKeys(t *testing.T) *keyring.Keys {
	t.Helper()
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// newContext returns the context of a master of the cluster prod with a file at
// /keys.
func newContext(t *testing.T, keys *keyring.Keys, present string) *actiontest.Context {
	t.Helper()
	ring := &keyring.Keyring{}
	if err := ring.Fill(keys); err != nil {
		t.Fatal(err)
	}
	s := &actiontest.Context{Name: "m1", Hosts: []string{"m1"}, Provided: engine.Services{}}
	engine.Provide(s.Provided, ring)
	engine.Provide(s.Provided, &cluster.Cluster{Name: "prod"})
	s.RunFunc = func(_ context.Context, _, module string, _ engine.Module) (engine.Result, error) {
		if module != "read" {
			t.Errorf("the action runs %s", module)
		}
		files := map[string]any{}
		if present != "" {
			files["/keys"] = present
		}
		return engine.Result{Output: engine.Output{"files": files}}, nil
	}
	return s
}

// newIdentity returns the path of a file with an identity, and its public key.
func newIdentity(t *testing.T) (file, public string) {
	t.Helper()
	text, public, err := secrets.Generate()
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, text), public
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func save(t *testing.T, s *actiontest.Context, action *Save) string {
	t.Helper()
	change, err := action.Check(t.Context(), s)
	if err != nil || change.Needed {
		t.Fatalf("%+v, %v", change, err)
	}
	text, _ := change.Output["content"].(string)
	return text
}

// TestKeysAreSavedAndRead: each recipient can decrypt the same keys, which are not
// readable before.
func TestKeysAreSavedAndRead(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	mine, public := newIdentity(t)
	yours, other := newIdentity(t)
	s := newContext(t, keys, "")
	for name, action := range map[string]*Save{
		"beside a snapshot": {Recipients: []string{public, other}},
		"on a host":         {Recipients: []string{public, other}, Present: "/keys"},
	} {
		content := save(t, s, action)
		for path, text := range keys.Files() {
			if lines := strings.Split(strings.TrimSpace(string(text)), "\n"); strings.Contains(content, lines[len(lines)/2]) {
				t.Errorf("%s: %s is readable", name, path)
			}
		}
		for _, identity := range []string{mine, yours} {
			change, err := (&Read{File: writeFile(t, content), Identity: identity}).Check(t.Context(), s)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := map[string]any{}
			for path, text := range keys.Files() {
				want[path] = string(text)
			}
			if diff := cmp.Diff(want, change.Output["files"]); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

// TestPresentKeysStay: a file is written again only when the keys or the recipients
// have changed, or when it is not whole.
func TestPresentKeysStay(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	_, public := newIdentity(t)
	_, other := newIdentity(t)
	action := &Save{Recipients: []string{public}, Present: "/keys"}
	present := save(t, newContext(t, keys, ""), action)
	rotated := func() *keyring.Keys {
		f, err := keys.Encryption()
		if err == nil {
			f, err = f.Add("key-20261123-101502")
		}
		if err != nil {
			t.Fatal(err)
		}
		return keys.WithEncryption(f)
	}()
	for name, tt := range map[string]struct {
		keys    *keyring.Keys
		present string
		to      []string
		again   bool
	}{
		"same keys and recipients": {keys, present, []string{public}, false},
		"missing":                  {keys, "", []string{public}, true},
		"cut short":                {keys, present[:len(present)-40], []string{public}, true},
		"another recipient":        {keys, present, []string{other}, true},
		"an additional recipient":  {keys, present, []string{public, other}, true},
		"an added key":             {rotated, present, []string{public}, true},
		"other keys":               {newKeys(t), present, []string{public}, true},
	} {
		content := save(t, newContext(t, tt.keys, tt.present), &Save{Recipients: tt.to, Present: "/keys"})
		if again := content != ""; again != tt.again {
			t.Errorf("%s: made anew: %t, want %t", name, again, tt.again)
		}
	}
}

// TestNextAuthoritiesAreSaved: a backup during a rotation of authorities has both of them.
func TestNextAuthoritiesAreSaved(t *testing.T) {
	t.Parallel()
	files := newKeys(t).Files()
	files[keyring.ClusterNext] = append(append([]byte{}, files[keyring.ClusterCert]...), files[keyring.ClusterKey]...)
	archive, err := pack("prod", files, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := unpack(archive, time.Now())
	if err != nil || !bytes.Equal(got[keyring.ClusterNext], files[keyring.ClusterNext]) {
		t.Errorf("%s: %q, %v", keyring.ClusterNext, got[keyring.ClusterNext], err)
	}
}

// TestExternalAuthorityIsSavedWithoutKey: the archive lists the keys that are outside
// of the cluster; without the list it is not whole.
func TestExternalAuthorityIsSavedWithoutKey(t *testing.T) {
	t.Parallel()
	files := newKeys(t).Files()
	delete(files, keyring.EtcdKey)
	archive, err := pack("prod", files, []string{keyring.Etcd}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	got, about, err := unpack(archive, time.Now())
	if err != nil || !slices.Equal(about.External, []string{keyring.Etcd}) || got[keyring.EtcdCert] == nil {
		t.Errorf("%+v, %v", about, err)
	}
	if _, err := pack("prod", files, nil, time.Now()); err == nil || !strings.Contains(err.Error(), keyring.EtcdKey) {
		t.Errorf("a key that is missing: %v", err)
	}
}

func TestSaveErrors(t *testing.T) {
	t.Parallel()
	s := newContext(t, newKeys(t), "")
	if _, err := (&Save{Recipients: []string{"age1x"}}).Check(t.Context(), s); err == nil || !strings.Contains(err.Error(), "no public key of age or SSH") {
		t.Errorf("a bad recipient: %v", err)
	}
	files := newKeys(t).Files()
	delete(files, keyring.AccountKey)
	if _, err := pack("prod", files, nil, time.Now()); err == nil || !strings.Contains(err.Error(), keyring.AccountKey) {
		t.Errorf("keys without one: %v", err)
	}
}

// TestReadErrors: a file of another cluster, or one that is not whole, is refused.
func TestReadErrors(t *testing.T) {
	t.Parallel()
	identity, public := newIdentity(t)
	stranger, _ := newIdentity(t)
	to, err := secrets.ParseRecipients("x", public)
	if err != nil {
		t.Fatal(err)
	}
	files := newKeys(t).Files()
	sealed := func(archive []byte) string {
		out, err := secrets.Seal(archive, to)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	packed := func(cluster string) []byte {
		out, err := pack(cluster, files, nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const about = `{"format":1,"cluster":"prod"}`
	good := sealed(packed("prod"))
	for name, tt := range map[string]struct{ content, identity, want string }{
		"another identity":                {good, stranger, "not encrypted to any key of yours"},
		"no identity":                     {good, "/none", "no such file"},
		"cut short":                       {good[:len(good)/2], identity, "opening file"},
		"another cluster":                 {sealed(packed("test")), identity, "has the keys of the cluster test"},
		"no archive":                      {sealed([]byte("hello")), identity, "reading the keys in"},
		"an empty archive":                {sealed(nil), identity, "has no deployer-keys.json"},
		"another format":                  {sealed(archiveOf(t, tar.TypeReg, describedIn, `{"format":2}`)), identity, "has the format 2"},
		"files without a name":            {sealed(archiveOf(t, tar.TypeReg, "etc/kubernetes/pki/ca.crt", "x")), identity, "is not expected there"},
		"a file that is no key":           {sealed(archiveOf(t, tar.TypeReg, describedIn, about, "etc/passwd", "x")), identity, `"etc/passwd" is not expected`},
		"a path outside of the directory": {sealed(archiveOf(t, tar.TypeReg, describedIn, about, "etc/kubernetes/../shadow", "x")), identity, "is not expected"},
		"a duplicate file":                {sealed(archiveOf(t, tar.TypeReg, describedIn, about, "etc/kubernetes/pki/ca.crt", "x", "etc/kubernetes/pki/ca.crt", "y")), identity, "is not expected"},
		"a link":                          {sealed(archiveOf(t, tar.TypeSymlink, describedIn, about)), identity, "no plain file"},
		"keys that are missing": {sealed(archiveOf(t, tar.TypeReg, describedIn, about, "etc/kubernetes/encryption.yaml", string(files[keyring.EncryptionConf]))),
			identity, "it has no "},
	} {
		_, err := (&Read{File: writeFile(t, tt.content), Identity: tt.identity}).Check(t.Context(), newContext(t, newKeys(t), ""))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// archiveOf returns an archive of names and contents.
func archiveOf(t *testing.T, kind byte, entries ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for e := range slices.Chunk(entries, 2) {
		h := &tar.Header{Typeflag: kind, Name: e[0], Mode: 0o600, Size: int64(len(e[1]))}
		if kind != tar.TypeReg {
			h.Size, h.Linkname = 0, "/etc/shadow"
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if kind == tar.TypeReg {
			if _, err := w.Write([]byte(e[1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestKeysOfAStore: keys of an object store need the fingerprint of the inventory, because whoever
// knows the recipients can encrypt others; keys with another fingerprint are refused from
// everywhere.
func TestKeysOfAStore(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	key, err := keys.BackupKey()
	if err != nil {
		t.Fatal(err)
	}
	identity, public := newIdentity(t)
	sealed, err := Seal("prod", keys, []string{public})
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, string(sealed))
	for name, c := range map[string]struct {
		fingerprint             string
		stored, unauthenticated bool
		want                    string
	}{
		"a file":                    {"", false, false, ""},
		"a file, known":             {key.Fingerprint(), false, false, ""},
		"a file, others":            {strings.Repeat("0", 32), false, false, "they are of another cluster, or forged"},
		"a file, others, told":      {strings.Repeat("0", 32), false, true, ""},
		"a store":                   {"", true, false, "Compare their fingerprint " + key.Fingerprint()},
		"a store, known":            {key.Fingerprint(), true, false, ""},
		"a store, others":           {strings.Repeat("0", 32), true, false, "they are of another cluster, or forged"},
		"a store, told to take any": {"", true, true, ""},
	} {
		s := newContext(t, keys, "")
		engine.Provide(s.Provided, &cluster.Cluster{Name: "prod", Etcd: cluster.Etcd{Backup: cluster.EtcdBackup{Fingerprint: c.fingerprint}}})
		_, err := (&Read{File: file, Identity: identity, Stored: c.stored, Unauthenticated: c.unauthenticated}).Check(t.Context(), s)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	digest, err := Digest(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newContext(t, keys, "")
	if _, err := (&Read{File: file, Identity: identity, SHA256: digest}).Check(t.Context(), s); err != nil {
		t.Errorf("the same file: %v", err)
	}
	if _, err := (&Read{File: file, Identity: identity, SHA256: strings.Repeat("0", 64)}).Check(t.Context(), s); err == nil || !strings.Contains(err.Error(), "is another file than the one with which the restore began") {
		t.Errorf("another file: %v", err)
	}
}
