package cluster

import (
	"slices"
	"strings"
)

// etcdDirs returns the directories that a member with these flags writes to: its data
// and, when it is elsewhere, its write-ahead log. All other paths are read-only for it.
func etcdDirs(args []string) []string {
	out := []string{}
	for _, flag := range []string{"--data-dir=", "--wal-dir="} {
		for _, arg := range args {
			if dir, ok := strings.CutPrefix(arg, flag); ok && dir != "" && !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	return out
}
