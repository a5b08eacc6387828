package undo

import (
	"path/filepath"
	"testing"
)

func TestWithoutBackup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for size, want := range map[int64]string{0: "", smallFile: "", maxKeptFile + 1: "it is larger than 512 MiB, the limit for backups"} {
		if got := backupRefusal(filepath.Join(dir, "not/yet"), size); got != want {
			t.Errorf("%d bytes: %q, want %q", size, got, want)
		}
	}
}
