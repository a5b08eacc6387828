package undo

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Limits of the backup of one file: backups are rarely needed, and must not fill the
// disk of a host.
const (
	maxKeptFile = 512 << 20 // bytes; programs and configuration are smaller, data is not for a revert
	smallFile   = 1 << 20   // bytes up to which a file is backed up however little space is free
	maxReserve  = 1 << 30   // bytes that stay free after the copy, at most a tenth of the file system
)

// backupRefusal returns the reason why a file of this size is not backed up in dir;
// empty when it is. The texts have no numbers of the host, so that the plans of many
// hosts stay equal.
func backupRefusal(dir string, size int64) string {
	switch {
	case size > maxKeptFile:
		return fmt.Sprintf("it is larger than %d MiB, the limit for backups", maxKeptFile>>20)
	case size > smallFile && !hasRoom(dir, size):
		return "a copy of it would fill the disk"
	}
	return ""
}

// hasRoom reports whether size bytes can be written below dir, which need not exist,
// and the reserve stays free. A file system that does not report its size has room.
func hasRoom(dir string, size int64) bool {
	var st unix.Statfs_t
	err := unix.Statfs(dir, &st)
	for isMissing(err) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = unix.Statfs(dir, &st)
	}
	if err != nil {
		return true
	}
	block := uint64(st.Bsize)
	return uint64(size)+min(st.Blocks*block/10, maxReserve) <= st.Bavail*block
}
