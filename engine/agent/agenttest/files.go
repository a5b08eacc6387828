package agenttest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// StateDir is the state directory of a host, below its root.
const StateDir = "/var/lib/deployer"

// WriteAged writes a file, with its directories, that was changed age ago.
func WriteAged(t testing.TB, path, content string, mode fs.FileMode, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// CopyDir returns a copy of a directory, for tests that change files or times in it.
func CopyDir(t testing.TB, dir string) string {
	t.Helper()
	out := t.TempDir()
	if err := os.CopyFS(out, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return out
}
