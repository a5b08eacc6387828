package hostfile

import (
	"errors"
	"os"
	"testing"
	"time"

	"deployer/tasks/tasktest"
)

// TestTempIsExchanged: somebody who may write in the directory puts a link in the
// place of the temporary file. What it leads to keeps mode and time.
func TestTempIsExchanged(t *testing.T) {
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
