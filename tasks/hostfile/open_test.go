package hostfile

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"deployer/tasks/tasktest"
)

// TestReadFileHasALimit: a file with more than maxRead bytes is refused, also when it is
// sparse; one with exactly maxRead bytes is read.
func TestReadFileHasALimit(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/home/ops/big", "x", 0o644)
	for size, want := range map[int64]string{maxRead: "", maxRead + 1: "more than 64 MiB", 20 << 30: "more than 64 MiB"} {
		if err := os.Truncate(sys.Path("/home/ops/big"), size); err != nil {
			t.Fatal(err)
		}
		data, err := ReadFile(sys, "/home/ops/big")
		if want == "" && (err != nil || int64(len(data)) != size) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%d bytes: read %d, %v; want %q", size, len(data), err, want)
		}
	}
}

// TestPipeIsNotRead: a pipe that a user has put in the place of a file is an error at once.
func TestPipeIsNotRead(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/home/ops")
	if err := syscall.Mkfifo(sys.Path("/home/ops/keys"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := OpenDir(sys, "/home/ops")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if _, err := ReadFileIn(dir, "keys"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
}
