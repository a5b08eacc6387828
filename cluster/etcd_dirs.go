package cluster

import (
	"slices"
	"strings"
)

// etcdDirs are the directories that a member with these flags writes to: that of
// its data, and that of its log of writes where it is another one. Everything else
// is read-only to it.
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
