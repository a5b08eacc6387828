package fetch

import (
	"cmp"
	"fmt"
	"syscall"
)

// defaultMaxMiB is the largest file that is fetched unless max_mib says otherwise.
// The size is what the host states, and hosts are not trusted with the
// controller's disk.
const defaultMaxMiB = 1024

// maxReserve bounds the free space that a disk must keep, in bytes.
const maxReserve = 1 << 30

// room refuses a file that is larger than allowed, or after which the controller's
// disk would be almost full.
func (f *Fetch) room(to target, size int64) error {
	limit := cmp.Or(f.MaxMiB, defaultMaxMiB)
	if size < 0 || size > limit<<20 {
		return fmt.Errorf("%s has %d bytes by what the host says, and max_mib allows %d MiB: raise it if the file is meant to be that large", f.Src, size, limit)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(to.dir, &disk); err != nil {
		return fmt.Errorf("looking for room in %s: %w", to.dir, err)
	}
	block := disk.Bsize
	free, reserve := int64(disk.Bavail)*block, min(int64(disk.Blocks)*block/10, maxReserve)
	if size > free-reserve {
		return fmt.Errorf("%s has %d bytes, and the disk of %s has %d free, of which %d are to stay free: make room, or name another dest", f.Src, size, to.dir, free, reserve)
	}
	return nil
}
