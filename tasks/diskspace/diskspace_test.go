package diskspace

import (
	"strings"
	"syscall"
	"testing"

	"deployer/tasks/tasktest"
)

// TestDiskSpace: directories of one file system need the sum, the spare space counts once, and
// a missing directory counts as its parent.
func TestDiskSpace(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/var/lib/etcd")
	var disk syscall.Statfs_t
	if err := syscall.Statfs(sys.Path("/"), &disk); err != nil {
		t.Fatal(err)
	}
	free := int64(disk.Bavail) * disk.Bsize
	both := []string{"/var/lib/etcd", "/var/lib/deployer/etcd-restore"}
	for name, tt := range map[string]struct {
		module DiskSpace
		wrong  string
	}{
		"room for a byte":            {DiskSpace{Dirs: both, Bytes: 1, SpareMiB: 1}, ""},
		"room for one of two":        {DiskSpace{Dirs: both, Bytes: free/4*3 + 1, SpareMiB: 1}, "/var/lib/etcd and /var/lib/deployer/etcd-restore: the disk has"},
		"room for one":               {DiskSpace{Dirs: both[:1], Bytes: free / 4 * 3, SpareMiB: 1}, ""},
		"nothing is left to spare":   {DiskSpace{Dirs: both[:1], Bytes: 1, SpareMiB: free>>20 + 1<<20}, "to spare do not fit: make room there"},
		"a directory that is a name": {DiskSpace{Dirs: []string{"etcd"}, Bytes: 1}, `"etcd" is not absolute`},
		"a negative size":            {DiskSpace{Dirs: both, Bytes: -1}, "sizes are positive"},
	} {
		change, err := tt.module.Check(t.Context(), sys)
		if (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) || change.Needed {
			t.Errorf("%s: %+v, %v; want %q", name, change, err, tt.wrong)
		}
	}
}
