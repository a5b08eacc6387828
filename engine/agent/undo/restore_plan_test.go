package undo

import "testing"

func TestIsMountPoint(t *testing.T) {
	for path, want := range map[string]bool{"/proc": true, "/proc/self": false, "/proc/version": false, t.TempDir(): false, "/nowhere": false} {
		if isMountPoint(path) != want {
			t.Errorf("%s: %t", path, !want)
		}
	}
}
