package s3server

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// binary returns the path of the server, which it builds when it is not there: about three
// minutes on two cores.
func binary(t testing.TB) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("finding the module's directory: %v", err)
	}
	// Tests of several packages run at the same time.
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "deployer-s3-server.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	build := exec.CommandContext(t.Context(), "make", "-s", "-C", strings.TrimSpace(string(root)), "s3-server")
	build.Stdout, build.Stderr = &stdout, &stderr
	if err := build.Run(); err != nil {
		t.Fatalf("building the object store: %v\n%s", err, stderr.String())
	}
	return strings.TrimSpace(stdout.String())
}
