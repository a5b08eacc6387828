package snapshot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/control/actiontest"
	"deployer/tasks/control/keyring"
)

// contextOf returns the context of a run that has the keys.
func contextOf(t *testing.T, keys *keyring.Keys) *actiontest.Context {
	t.Helper()
	ring := &keyring.Keyring{}
	if err := ring.Fill(keys); err != nil {
		t.Fatal(err)
	}
	s := &actiontest.Context{Provided: engine.Services{}}
	engine.Provide(s.Provided, ring)
	return s
}

// sign returns the MAC of a snapshot by the action.
func sign(t *testing.T, keys *keyring.Keys, path, name string) string {
	t.Helper()
	v, err := Verify(path)
	if err != nil {
		t.Fatal(err)
	}
	change, err := (&Sign{Name: name, Bytes: v.Bytes, SHA256: v.SHA256}).Check(t.Context(), contextOf(t, keys))
	if err != nil {
		t.Fatal(err)
	}
	return change.Output["content"].(string)
}

// TestPlantedSnapshot: a hostile store cannot present objects, an old snapshot as a new one, or its
// own MAC. A snapshot as it was saved is accepted, also by a cluster whose other keys were rotated.
func TestPlantedSnapshot(t *testing.T) {
	t.Parallel()
	keys, encrypt := newKeys(t)
	others, _ := newKeys(t)
	good := save(t, write{web, encrypt(web, "k8s")})
	planted := save(t, write{web, encrypt(web, "k8s")}, write{"/registry/clusterrolebindings/evil", "k8s"})
	mac := sign(t, keys, good, "20261127")
	for name, c := range map[string]struct {
		file, mac, as string
		want          string // empty for an accepted one
	}{
		"as it was saved":          {good, mac, "20261127", ""},
		"under any name":           {good, mac, "", ""},
		"without a MAC":            {planted, "", "", "it has no MAC"},
		"with planted objects":     {planted, mac, "20261127", "its MAC is of other content"},
		"with a MAC of the store":  {planted, sign(t, others, planted, "20261127"), "20261127", "its MAC is by the key"},
		"with a changed MAC":       {planted, replaced(t, sign(t, keys, good, "20261127"), good, planted), "20261127", "its MAC is forged"},
		"presented as a newer one": {good, mac, "20261128", "it was saved as 20261127 on "},
		"with another time":        {good, strings.Replace(mac, "saved 2", "saved 3", 1), "", "its MAC is forged"},
		"with a damaged MAC":       {good, mac + "\n", "", "reading its MAC: it is damaged"},
	} {
		check := &Check{File: c.file, MAC: c.mac, Name: c.as, Authentic: true}
		change, err := check.Check(t.Context(), contextOf(t, keys))
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--unauthenticated")) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if at, _ := time.Parse(time.RFC3339, text(change.Output["saved"])); err == nil && time.Since(at) > time.Minute {
			t.Errorf("%s: saved at %v", name, change.Output["saved"])
		}
		check.Authentic = false
		if _, err := check.Check(t.Context(), contextOf(t, keys)); err != nil {
			t.Errorf("%s, unauthenticated: %v", name, err)
		}
	}
}

func text(v any) string { s, _ := v.(string); return s }

// replaced returns a MAC file with size and digest of another snapshot.
func replaced(t *testing.T, mac, from, to string) string {
	t.Helper()
	a, err := Verify(from)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Verify(to)
	if err != nil {
		t.Fatal(err)
	}
	mac = strings.Replace(mac, a.SHA256, b.SHA256, 1)
	m, err := ParseMAC(mac)
	if err != nil {
		t.Fatal(err)
	}
	m.Bytes = b.Bytes
	return m.text() + "\nmac " + m.code + "\n"
}

func TestParseMAC(t *testing.T) {
	t.Parallel()
	key := keyring.BackupKey("key")
	want := MAC{Name: "scheduled-20261127-000000-m1", Saved: time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC), Bytes: 7, SHA256: strings.Repeat("0a", 32), Keys: NoKeys}
	good := want.Sign(key)
	m, err := ParseMAC(good)
	want.Key, want.code = key.Fingerprint(), m.code
	if err != nil || m != want || m.Verify(key) != nil {
		t.Errorf("%+v, %v; want %+v", m, err, want)
	}
	for name, text := range map[string]string{
		"nothing":          "",
		"cut":              good[:len(good)-1],
		"a line more":      good + "x\n",
		"spaces":           strings.Replace(good, "bytes 7", "bytes  7", 1),
		"leading zero":     strings.Replace(good, "bytes 7", "bytes 07", 1),
		"too many bytes":   strings.Replace(good, "bytes 7", "bytes 99999999999999999999", 1),
		"no time":          strings.Replace(good, "saved 2026-11-27T00:00:00Z", "saved yesterday", 1),
		"another zone":     strings.Replace(good, "00:00:00Z", "00:00:00+01:00", 1),
		"name with a path": strings.Replace(good, "name s", "name ../s", 1),
		"escapes":          strings.Replace(good, "name s", "name \x1b[2Js", 1),
		"line ends":        strings.ReplaceAll(good, "\n", "\r\n"),
		"no digest":        strings.Replace(good, "keys none", "keys some", 1),
		"two keys":         strings.Replace(good, "keys none", "keys none\nkeys none", 1),
		"another format":   strings.Replace(good, "backup 1", "backup 2", 1),
	} {
		if _, err := ParseMAC(text); err == nil {
			t.Errorf("%s is read: %q", name, text)
		}
	}
}

// TestKeysOfAnotherTime: a store presents authentic keys that were not saved with the snapshot, such as
// those of an authority that was replaced since.
func TestKeysOfAnotherTime(t *testing.T) {
	t.Parallel()
	keys, encrypt := newKeys(t)
	path := save(t, write{web, encrypt(web, "k8s")})
	v, err := Verify(path)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.BackupKey()
	if err != nil {
		t.Fatal(err)
	}
	saved, former := strings.Repeat("0a", 32), strings.Repeat("0b", 32)
	content := func(digest string) string {
		change, err := (&Sign{Name: "20261127", Bytes: v.Bytes, SHA256: v.SHA256, Keys: digest}).Check(t.Context(), contextOf(t, keys))
		if err != nil {
			t.Fatal(err)
		}
		return change.Output["content"].(string)
	}
	unknown := MAC{Name: "20261127", Saved: time.Now(), Bytes: v.Bytes, SHA256: v.SHA256}.Sign(key)
	for name, c := range map[string]struct{ mac, keys, want string }{
		"the keys of the snapshot":     {content(saved), saved, ""},
		"keys from elsewhere":          {content(saved), "", ""},
		"other keys":                   {content(saved), former, "somebody has exchanged the keys"},
		"keys of a snapshot without":   {content(""), saved, "its MAC names no file with keys"},
		"a MAC that does not say it":   {unknown, saved, "its MAC names no file with keys"},
		"that MAC, and no keys":        {unknown, "", ""},
		"a MAC that was made to match": {strings.Replace(content(saved), "keys "+saved, "keys "+former, 1), former, "its MAC is forged"},
		"a line that was removed":      {strings.Replace(content(saved), "keys "+saved+"\n", "", 1), "", "its MAC is forged"},
	} {
		check := &Check{File: path, MAC: c.mac, Keys: c.keys, Authentic: true}
		_, err := check.Check(t.Context(), contextOf(t, keys))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestSnapshotIsReadFromTheVerifiedFile: another file gets the name of a snapshot after it was
// verified. The content is that of the verified one.
func TestSnapshotIsReadFromTheVerifiedFile(t *testing.T) {
	t.Parallel()
	good, evil := save(t, write{web, "x"}), save(t, write{web, "x"}, write{db, "y"})
	path := filepath.Join(t.TempDir(), "snapshot.db")
	if err := os.Link(good, path); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Rename(evil, path); err != nil {
		t.Fatal(err)
	}
	if c, err := f.Read(nil); err != nil || c.Keys != 1 {
		t.Errorf("%+v, %v; want the one key of the verified snapshot", c, err)
	}
}
