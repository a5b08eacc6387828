package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/objectstore"
	"deployer/secrets"
	"deployer/tasks/control/keybackup"
	"deployer/tasks/control/keyring"
	"deployer/tasks/control/snapshot"
	"deployer/test/s3server"
)

// macWithKeys returns the MAC of a snapshot that was saved with a file of keys.
func macWithKeys(t *testing.T, key keyring.BackupKey, name, content, keys string) string {
	t.Helper()
	sum, digest := sha256.Sum256([]byte(content)), sha256.Sum256([]byte(keys))
	return snapshot.MAC{Name: name, Saved: time.Now(), Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:]), Keys: hex.EncodeToString(digest[:])}.Sign(key)
}

// macOf returns the MAC of a snapshot with some content.
func macOf(t *testing.T, key keyring.BackupKey, name, content string, saved time.Time) string {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	return snapshot.MAC{Name: name, Saved: saved, Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}.Sign(key)
}

// whole returns a text as the content of a snapshot that is whole.
func whole(text string) string {
	content := strings.Repeat(text, 512)
	sum := sha256.Sum256([]byte(content))
	return content + string(sum[:])
}

// TestSnapshotWithoutItsMACIsRefused: before any host is reached, a restore refuses a snapshot whose
// MAC is missing, damaged, or of another snapshot.
func TestSnapshotWithoutItsMACIsRefused(t *testing.T) {
	s := newCertifiedSite(t)
	for _, h := range s.fleet.Hosts {
		h.Stop()
	}
	key := keyring.BackupKey("key")
	s.write("good.db", whole("good"))
	now := time.Now()
	for name, c := range map[string]struct{ mac, want string }{
		"none":              {"", "it has no MAC"},
		"damaged":           {strings.Replace(macOf(t, key, "x", whole("good"), now), "name", "nome", 1), "it is damaged"},
		"of another one":    {macOf(t, key, "x", whole("evil"), now), "its MAC is of other content"},
		"of a later format": {strings.Replace(macOf(t, key, "x", whole("good"), now), "backup 1\n", "backup 2\n", 1), "a newer version of deployer"},
	} {
		if c.mac == "" {
			_ = os.Remove("good.mac")
		} else {
			s.write("good.mac", c.mac)
		}
		_, stderr := s.deployer(exitRefused, "etcd", "restore", "good.db", "--yes", "--cluster", "prod")
		if !strings.Contains(stderr, "nothing was changed: nothing proves that good.db") || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "--unauthenticated") {
			t.Errorf("%s: %s", name, stderr)
		}
	}
	s.write("good.mac", macOf(t, key, "good", whole("good"), now.Add(-49*time.Hour)))
	_, stderr := s.deployer(exitRefused, "etcd", "restore", "good.db", "--yes", "--cluster", "prod")
	requireTexts(t, stderr, "the snapshot was saved as good on ", ", 2d1h ago")
	if strings.Contains(stderr, "nothing proves") {
		t.Errorf("a MAC of the content is refused before the keys are known: %s", stderr)
	}
}

// TestForgedSnapshotIsRefusedByTheRun: a MAC by another key passes the checks of this machine, and the
// run refuses it with the keys of the masters before it changes anything. With
// --unauthenticated the run goes on.
func TestForgedSnapshotIsRefusedByTheRun(t *testing.T) {
	s := newCertifiedSite(t)
	s.writeHostFile(0, "/etc/systemd/system/etcd.service", "[Service]\n")
	s.write("evil.db", whole("evil"))
	s.write("evil.mac", macOf(t, keyring.BackupKey("of the store"), "evil", whole("evil"), time.Now()))
	restore := []string{"etcd", "restore", "evil.db", "--yes", "--cluster", "prod"}
	stdout, stderr := s.deployer(exitRefused, restore...)
	requireTexts(t, stdout+stderr, "nothing proves that", "its MAC is by the key", "--unauthenticated")
	stdout, stderr = s.deployer(exitRefused, append(restore, "--unauthenticated")...)
	if strings.Contains(stdout+stderr, "nothing proves") {
		t.Errorf("with --unauthenticated: %s%s", stdout, stderr)
	}
}

// TestSnapshotOfAHostHasItsMAC: a restore of HOST:PATH reads the MAC that the host has beside the snapshot.
func TestSnapshotOfAHostHasItsMAC(t *testing.T) {
	s := newCertifiedSite(t)
	s.writeHostFile(0, "/etc/systemd/system/etcd.service", "[Service]\n")
	s.writeHostFile(0, "/srv/saved.db", whole("saved"))
	s.writeHostFile(0, "/srv/saved.mac", macOf(t, keyring.BackupKey("of somebody else"), "saved", whole("saved"), time.Now()))
	stdout, stderr := s.deployer(exitRefused, "etcd", "restore", s.fleet.Hosts[0].Name+":/srv/saved.db", "--yes", "--cluster", "prod")
	requireTexts(t, stderr+stdout, "the snapshot was saved as saved on ", "its MAC is by the key")
}

// TestListIsComparedOnMasters: the list of a real store is compared with the key of the masters. When
// no master answers, the list is shown all the same.
func TestListIsComparedOnMasters(t *testing.T) {
	server := s3server.Start(t) // before the test sets XDG_CACHE_HOME
	server.Bucket("backups")
	s := newCertifiedSite(t)
	s.write("store.pem", server.CA)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": server.Endpoint, "AWS_CA_BUNDLE": "store.pem", "AWS_ACCESS_KEY_ID": s3server.AccessKey, "AWS_SECRET_ACCESS_KEY": s3server.SecretKey, "AWS_REGION": "us-east-1",
	} {
		t.Setenv(name, value)
	}
	key, err := s.keys.BackupKey()
	if err != nil {
		t.Fatal(err)
	}
	at := objectstore.Location{Bucket: "backups", Key: "prod"}
	store, err := openObjectStore(s.cluster)
	if err != nil {
		t.Fatal(err)
	}
	for name, mac := range map[string]string{
		"good":    macWithKeys(t, key, "good", whole("good"), "other keys"),
		"forged":  macOf(t, keyring.BackupKey("of the store"), "forged", whole("good"), time.Now()),
		"garbage": "mac",
		"former":  "",
	} {
		s.write(name+".db", whole("good"))
		if err := store.Upload(t.Context(), name+".db", at.Join(name+".db")); err != nil {
			t.Fatal(err)
		}
		if mac == "" {
			continue
		}
		s.write(name+".mac", mac)
		if err := store.Upload(t.Context(), name+".mac", at.Join(name+".mac")); err != nil {
			t.Fatal(err)
		}
	}
	list := func() map[string]string {
		t.Helper()
		stdout, _ := s.deployer(exitOK, "etcd", "backups", "s3://backups/prod", "--output", "json")
		var found struct{ Backups []storedBackup }
		if err := json.Unmarshal([]byte(stdout), &found); err != nil {
			t.Fatalf("%v: %s", err, stdout)
		}
		out := map[string]string{}
		for _, b := range found.Backups {
			out[strings.TrimSuffix(filepath.Base(b.Snapshot), ".db")] = b.Authentic
			if (b.Saved != nil) != (b.Authentic == authenticYes) || (b.Reason == "") != (b.Authentic == authenticYes) {
				t.Errorf("%+v", b)
			}
		}
		return out
	}
	if diff := cmp.Diff(map[string]string{"good": authenticYes, "forged": authenticNo, "garbage": authenticNo, "former": authenticNo}, list()); diff != "" {
		t.Error(diff)
	}
	_, stderr := s.deployer(exitRefused, "etcd", "restore", "s3://backups/prod/former.db", "--yes", "--cluster", "prod")
	requireTexts(t, stderr, "it has no MAC", "--unauthenticated")
	s.write("former.keys.age", "keys")
	if err := store.Upload(t.Context(), "former.keys.age", at.Join("good.keys.age")); err != nil {
		t.Fatal(err)
	}
	_, stderr = s.deployer(exitRefused, "etcd", "restore", "s3://backups/prod/good.db", "--keys", "s3://backups/prod/good.keys.age", "--yes", "--cluster", "prod")
	requireTexts(t, stderr, "nothing was changed", "somebody has exchanged the keys", "--unauthenticated")
	for _, h := range s.fleet.Hosts {
		h.Stop()
	}
	if diff := cmp.Diff(map[string]string{"good": authenticUnknown, "forged": authenticUnknown, "garbage": authenticNo, "former": authenticNo}, list()); diff != "" {
		t.Error(diff)
	}
}

// TestListShowsWhichBackupsAreAuthentic: a store presents an old snapshot under the name of the newest,
// a forged one, one of another size, and one without MAC.
func TestListShowsWhichBackupsAreAuthentic(t *testing.T) {
	dir := t.TempDir()
	keys, _, err := keyring.Complete(nil, time.Now(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.BackupKey()
	if err != nil {
		t.Fatal(err)
	}
	identity, public, err := secrets.Generate()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := keybackup.Seal("prod", keys, []string{public})
	if err != nil {
		t.Fatal(err)
	}
	flags := keyFile{file: filepath.Join(dir, "keys.age"), identity: filepath.Join(dir, "age.txt")}
	for path, text := range map[string]string{flags.file: string(sealed), flags.identity: identity} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	saved := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	list := []*storedBackup{}
	for _, b := range []struct {
		name, mac string
		size      int64
	}{
		{"good", macOf(t, key, "good", "data", saved), 4},
		{"newest", macOf(t, key, "old", "data", saved), 4},
		{"forged", strings.Replace(macOf(t, key, "forged", "data", saved), "bytes 4", "bytes 5", 1), 5},
		{"foreign", macOf(t, keyring.BackupKey("another"), "foreign", "data", saved), 4},
		{"size", macOf(t, key, "size", "data", saved), 9},
	} {
		o := &storedBackup{Snapshot: "s3://b/" + b.name + ".db", Size: b.size, Authentic: authenticUnknown, hasMAC: true, mac: b.mac, name: "prod/" + b.name}
		list = append(list, o)
	}
	list = append(list, &storedBackup{Snapshot: "s3://b/\x1b[2Jplain.db", Authentic: authenticNo, Reason: "it has no MAC"})
	if err := flags.compare(list, "prod"); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := (&backupList{Backups: list}).print(&out); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{authenticYes, authenticNo, authenticNo, authenticNo, authenticNo, authenticNo} {
		if list[i].Authentic != want {
			t.Errorf("%s: %s (%s), want %s", list[i].Snapshot, list[i].Authentic, list[i].Reason, want)
		}
	}
	requireTexts(t, out.String(), "yes        2026-11-20 01:02:03", "s3://b/newest.db: it was saved as old on 2026-11-20 01:02:03",
		"s3://b/forged.db: its MAC is forged", "s3://b/foreign.db: its MAC is by the key", "s3://b/size.db: it has 9 bytes")
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("the list has control characters of the store: %q", out.String())
	}
	if err := flags.compare(list, "staging"); err == nil {
		t.Error("the keys of another cluster are taken")
	}
}
