package tempdir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestNewRemovesAbandoned(t *testing.T) {
	parent := t.TempDir()
	used, err := New(parent, "a-")
	if err != nil {
		t.Fatal(err)
	}
	killed, err := New(parent, "a-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(killed.Path, "copy"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = killed.lock.Close() // the kernel does this for a process that is killed
	for _, name := range []string{"a-new", "a-old", "b-old", "target"} {
		if err := os.Mkdir(filepath.Join(parent, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hourAgo := time.Now().Add(-time.Hour)
	for _, name := range []string{"a-old", "b-old", "target"} {
		if err := os.Chtimes(filepath.Join(parent, name), hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("target", filepath.Join(parent, "a-link")); err != nil {
		t.Fatal(err)
	}
	want := []string{used.Path}
	for _, name := range []string{"a-new", "b-old", "target", "a-link"} {
		want = append(want, filepath.Join(parent, name))
	}
	if os.Geteuid() == 0 {
		foreign := filepath.Join(parent, "a-foreign")
		if err := os.Mkdir(foreign, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(foreign, hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
		want = append(want, foreign)
	}
	last, err := New(parent, "a-")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, last.Path)
	requireEntries(t, parent, want)
	if err := used.Remove(); err != nil {
		t.Error(err)
	}
	requireEntries(t, parent, want[1:])
}

func requireEntries(t *testing.T, parent string, want []string) {
	t.Helper()
	got, err := filepath.Glob(filepath.Join(parent, "*"))
	if err != nil {
		t.Fatal(err)
	}
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("entries are %q, want %q", got, want)
	}
}
