package s3server

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"deployer/test/server"
)

// binary returns the path of the server, which it builds when it does not exist: about three
// minutes on two cores.
func binary(t testing.TB) string {
	t.Helper()
	// The lock is for tests of several packages, which run at the same time.
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "deployer-s3-server.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return server.Make(t, "s3-server")
}
