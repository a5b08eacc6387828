// Package diskspace has the module that checks the free space of file systems before
// something large is written to them.
package diskspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"deployer/engine"
)

// DiskSpace is the module `disk_space`: it fails unless each directory has room for a number
// of bytes, and changes nothing. Directories on the same file system need the sum.
type DiskSpace struct {
	Dirs     []string `yaml:"dirs" rule:"path" required:"true" doc:"absolute paths of directories on the host; for one that does not exist, its parent counts"`
	Bytes    int64    `yaml:"bytes" range:"0.." required:"true" doc:"bytes that will be written to each directory"`
	SpareMiB int64    `yaml:"spare_mib" range:"0.." doc:"size in MiB that must stay free on each file system; default 512"`
}

var _ engine.Module = (*DiskSpace)(nil)

// DefaultSpareMiB is the space that must stay free, in MiB: etcd stops to write on a full disk.
const DefaultSpareMiB = 512

// ReadOnly is true.
func (*DiskSpace) ReadOnly() bool { return true }

// volume is a file system that will be written to.
type volume struct {
	dirs []string
	free int64 // bytes
}

// Check compares.
func (d *DiskSpace) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	spare := d.SpareMiB
	if spare == 0 {
		spare = DefaultSpareMiB
	}
	if d.Bytes < 0 || spare < 0 || d.Bytes > 1<<60 || spare > 1<<40 {
		return engine.Change{}, fmt.Errorf("bytes is %d and spare_mib is %d: sizes are positive", d.Bytes, d.SpareMiB)
	}
	volumes, order := map[uint64]*volume{}, []uint64{}
	for _, dir := range d.Dirs {
		id, free, err := freeSpace(sys, dir)
		if err != nil {
			return engine.Change{}, err
		}
		if volumes[id] == nil {
			volumes[id] = &volume{free: free}
			order = append(order, id)
		}
		volumes[id].dirs = append(volumes[id].dirs, dir)
	}
	for _, id := range order {
		v := volumes[id]
		need := int64(len(v.dirs)) * d.Bytes
		if v.free < need+spare<<20 {
			return engine.Change{}, fmt.Errorf("%s: the disk has %d MiB free, and %d MiB with %d MiB to spare do not fit: make room there",
				strings.Join(v.dirs, " and "), v.free>>20, (need+1<<20-1)>>20, spare)
		}
	}
	return engine.NoChange(engine.Output{}), nil
}

// freeSpace returns the device of a directory, or of its nearest parent that exists, and the
// bytes that are free there.
func freeSpace(sys engine.System, dir string) (device uint64, free int64, err error) {
	if !filepath.IsAbs(dir) {
		return 0, 0, fmt.Errorf("directory %q is not absolute", dir)
	}
	at := filepath.Clean(dir)
	info, err := os.Stat(sys.Path(at))
	for errors.Is(err, fs.ErrNotExist) && at != "/" {
		at = filepath.Dir(at)
		info, err = os.Stat(sys.Path(at))
	}
	if err != nil {
		return 0, 0, fmt.Errorf("reading the free space of %s: %w", dir, err)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(sys.Path(at), &disk); err != nil {
		return 0, 0, fmt.Errorf("reading the free space of %s: %w", dir, err)
	}
	return info.Sys().(*syscall.Stat_t).Dev, int64(disk.Bavail) * disk.Bsize, nil //nolint:gosec,unconvert // sizes of file systems; types differ between architectures
}

// Apply is never called.
func (*DiskSpace) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
