package fetch

import (
	"cmp"
	"fmt"
	"syscall"
)

// defaultMaxMiB is the default of max_mib. The host states the size, and a host must not
// fill the controller's disk.
const defaultMaxMiB = 1024

// maxReserve is the maximum free space, in bytes, that a disk must keep.
const maxReserve = 1 << 30

// room refuses a file that is larger than allowed, or that would nearly fill the
// controller's disk.
func (f *Fetch) room(to target, size int64) error {
	limit := cmp.Or(f.MaxMiB, defaultMaxMiB)
	if size < 0 || size > limit<<20 {
		return fmt.Errorf("%s has %d bytes according to the host, and max_mib allows %d MiB: raise max_mib if the size is right", f.Src, size, limit)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(to.dir, &disk); err != nil {
		return fmt.Errorf("reading the free space of %s: %w", to.dir, err)
	}
	block := disk.Bsize
	free, reserve := int64(disk.Bavail)*block, min(int64(disk.Blocks)*block/10, maxReserve)
	if size > free-reserve {
		return fmt.Errorf("%s has %d bytes, and the disk of %s has %d free, of which %d must stay free: free space, or choose another dest", f.Src, size, to.dir, free, reserve)
	}
	return nil
}
