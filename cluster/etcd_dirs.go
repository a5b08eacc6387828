package cluster

import (
	"path"
	"slices"
	"strings"
)

const (
	dataDirFlag = "--data-dir="
	walDirFlag  = "--wal-dir="
)

// etcdDirs returns the directories that a member with these flags writes to, its data and,
// when it is elsewhere, its write-ahead log; the directory of the log itself; and the flags
// with which etcd is started. All other paths are read-only for it.
//
// etcd gets a directory within that of --wal-dir: it creates its log beside that directory and
// replaces the directory by a rename (server/storage/wal/wal.go: Create), so neither a mounted
// file system nor a directory whose parent is read-only can be the log. A restore exchanges
// the log by a rename, too.
func etcdDirs(args []string) (dirs []string, log string, flags []string) {
	dirs, flags = []string{}, slices.Clone(args)
	for _, arg := range args {
		if dir, ok := strings.CutPrefix(arg, dataDirFlag); ok && dir != "" {
			dirs, log = append(dirs, dir), path.Join(dir, "member/wal")
		}
	}
	for i, arg := range flags {
		if dir, ok := strings.CutPrefix(arg, walDirFlag); ok && dir != "" {
			log = path.Join(dir, "wal")
			flags[i] = walDirFlag + log
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs, log, flags
}
