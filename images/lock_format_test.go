package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLockFormats: lock files of all formats are readable, have the same content, and
// are written in the present format.
func TestLockFormats(t *testing.T) {
	golden, err := os.ReadFile(filepath.Join("testdata", "locks", "lock-1.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lock-0.yaml", "lock-1.yaml"} {
		content, err := os.ReadFile(filepath.Join("testdata", "locks", name))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), LockName)
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		lock := openLock(t, path)
		want := Pin{Ref: Ref{"etcd", "v3.6.5", "amd64"}, SHA256: hexOf([]byte("x")), Size: 1, Source: "https://example.com/etcd"}
		if diff := cmp.Diff([]Pin{want}, sortedPins(lock.pins)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		other := want
		other.Size = 2
		for _, pin := range []Pin{other, want} { // the pin that was written, and the former pin
			lock.Put(pin)
			if err := lock.Save(); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(golden), string(got)); diff != "" {
			t.Errorf("%s is written in another form than its format: give it another number, and read the old one: %s", name, diff)
		}
	}
}

// TestNewerLockIsRefused: the pins of a newer lock file are neither used nor
// overwritten.
func TestNewerLockIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), LockName)
	const newer = "format: 7\nartifacts: {etcd: {pins: []}}\n"
	if err := os.WriteFile(path, []byte(newer), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadLock(path); err == nil || !strings.Contains(err.Error(), "has the format 7 and this version of deployer knows 1") {
		t.Errorf("got %v", err)
	}
	lock := openLock(t, filepath.Join(t.TempDir(), LockName))
	lock.path = path
	lock.Put(pinOf("a", "1"))
	if err := lock.Save(); err == nil {
		t.Error("it is overwritten")
	}
}
