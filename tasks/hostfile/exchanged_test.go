package hostfile

import (
	"errors"
	"os"
	"testing"
	"time"

	"deployer/tasks/tasktest"
)

// TestReplacedTemporaryFileIsNotFollowed: a user with write access to the directory
// replaces the temporary file by a link. Mode and time of the file behind the link do
// not change.
func TestReplacedTemporaryFileIsNotFollowed(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/victim", "root's", 0o600)
	sys.Mkdir(t, "/open")
	when := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(sys.Path("/victim"), when, when); err != nil {
		t.Fatal(err)
	}
	temp, err := Create(sys, "/open/x")
	if err != nil {
		t.Fatal(err)
	}
	defer temp.Discard()
	if err := errors.Join(os.Remove(temp.Name()), os.Symlink("../victim", temp.Name())); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(temp.ApplyAttributes(sys, Access{Mode: "0666"}), temp.Commit()); err != nil {
		t.Log(err) // a refusal is as good
	}
	info, err := os.Stat(sys.Path("/victim"))
	if err != nil || info.Mode().Perm() != 0o600 || !info.ModTime().Equal(when) {
		t.Errorf("%v, %v, %v", info.Mode(), info.ModTime(), err)
	}
}
