package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/tasks/control/keyring"
)

// TestBackupsOfADirectory: the list has every snapshot with its age and the state of its MAC, and
// names every other file.
func TestBackupsOfADirectory(t *testing.T) {
	s := newCertifiedSite(t)
	key, err := s.keys.BackupKey()
	if err != nil {
		t.Fatal(err)
	}
	saved := time.Now().Add(-50 * time.Hour).UTC().Truncate(time.Second)
	content := whole("data")
	foreign := keyring.BackupKey("of another cluster")
	dir := filepath.Join(t.TempDir(), "backups")
	if err := os.MkdirAll(filepath.Join(dir, "old.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i, f := range []struct{ name, content string }{ // oldest first
		{"former.db", content},
		{"good.db", content}, {"good.mac", macOf(t, key, "good", content, saved)}, {"good.keys.age", "keys"},
		{"renamed.db", content}, {"renamed.mac", macOf(t, key, "20261120", content, saved)},
		{"foreign.db", content}, {"foreign.mac", macOf(t, foreign, "foreign", content, saved)},
		{"longer.db", content + strings.Repeat("x", 512)}, {"longer.mac", macOf(t, key, "longer", content, saved)},
		{"garbage.db", content}, {"garbage.mac", "garbage"},
		{"large.db", content}, {"large.mac", strings.Repeat("x", 5000)},
		{"cut.db", content[:700]}, {"cut.mac", macOf(t, key, "cut", content, saved)},
		{"lost.keys.age", "keys"}, {"notes.txt", "notes"}, {".x.db.part", "part"},
	} {
		path := filepath.Join(dir, f.name)
		if err := os.WriteFile(path, []byte(f.content), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(i-100) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("gone", filepath.Join(dir, "link.db")); err != nil {
		t.Fatal(err)
	}
	list := func() *backupList {
		t.Helper()
		stdout, _ := s.deployer(exitOK, "etcd", "backups", dir, "--output", "json")
		var found backupList
		if err := json.Unmarshal([]byte(stdout), &found); err != nil {
			t.Fatalf("%v: %s", err, stdout)
		}
		return &found
	}
	states := func(l *backupList) (out []string) {
		for _, b := range l.Backups {
			out = append(out, strings.TrimPrefix(b.Snapshot, dir+"/")+" "+b.Authentic)
		}
		return out
	}
	found := list()
	if diff := cmp.Diff([]string{"former.db no", "good.db yes", "renamed.db yes", "foreign.db no", "longer.db no", "garbage.db no", "large.db unknown", "cut.db no"}, states(found)); diff != "" {
		t.Error(diff)
	}
	good := found.Backups[1]
	if want := int64(50 * 3600); found.Place != dir || good.Age < want || good.Age > want+60 || !good.Keys || good.Size != int64(len(content)) || good.Saved == nil || !good.Saved.Equal(saved) {
		t.Errorf("%+v", good)
	}
	var others []string
	for _, o := range found.Others {
		others = append(others, o.Name+": "+o.Reason)
	}
	if diff := cmp.Diff([]string{".x.db.part: it is no backup", "link.db: stat " + dir + "/link.db: no such file or directory", "lost.keys.age: its snapshot lost.db is not there",
		"notes.txt: it is no backup", "old.db: it is a directory"}, others); diff != "" {
		t.Error(diff)
	}

	stdout, _ := s.deployer(exitOK, "etcd", "backups", dir)
	requireTexts(t, stdout, "AGE\n", "2d2h\n", dir+"/renamed.db: it was saved as 20261120\n", dir+"/foreign.db: its MAC is by the key", dir+"/longer.db: it has 2592 bytes, and was saved with 2080",
		dir+"/garbage.db: reading its MAC: it is damaged", dir+"/large.db: its MAC cannot be read: "+dir+"/large.mac has more than 4096 bytes", dir+"/cut.db: it is no whole snapshot of etcd: it has 700 bytes", "not listed: .x.db.part (it is no backup); link.db (stat ", "lost.keys.age (its snapshot lost.db is not there)")
	if strings.Contains(stdout, "former.db: it has no MAC") {
		t.Errorf("a snapshot of an earlier version is doubted: %s", stdout)
	}

	empty := t.TempDir()
	stdout, _ = s.deployer(exitOK, "etcd", "backups", empty)
	requireTexts(t, stdout, "no snapshot is in "+empty)
	for place, want := range map[string]string{
		filepath.Join(dir, "good.db"): "good.db is a file: name the directory",
		filepath.Join(dir, "none"):    "does not exist; name a directory, or an object store as s3://BUCKET/PREFIX",
	} {
		_, stderr := s.deployer(exitUsage, "etcd", "backups", place)
		requireTexts(t, stderr, want)
	}
	for _, h := range s.fleet.Hosts {
		h.Stop()
	}
	if got := states(list()); !strings.HasSuffix(got[1], authenticUnknown) || !strings.HasSuffix(got[5], authenticNo) {
		t.Errorf("without masters: %q", got)
	}
}
