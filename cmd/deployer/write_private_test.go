package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWritePrivate checks that the file has mode 0600 whatever it was before, also
// through a link, and that a reader of the old file does not see the content.
func TestWritePrivate(t *testing.T) {
	dir := t.TempDir()
	wide, link, fresh := filepath.Join(dir, "wide"), filepath.Join(dir, "link"), filepath.Join(dir, "fresh")
	if err := os.WriteFile(wide, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(wide, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(wide, link); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(wide)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	for _, path := range []string{link, fresh} {
		if err := writePrivate(path, []byte("new")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if target, err := os.Readlink(link); err != nil || target != wide {
		t.Errorf("the link is %q, %v", target, err)
	}
	seen := make([]byte, 10)
	if n, _ := open.Read(seen); string(seen[:n]) != "old" {
		t.Errorf("who had the file open reads %q", seen[:n])
	}
	if err := writePrivate(os.DevNull, []byte("new")); err != nil {
		t.Error(err)
	}
}
