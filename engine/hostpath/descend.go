package hostpath

import (
	"errors"
	"path"
	"slices"

	"golang.org/x/sys/unix"
)

// descend opens the directory at the end of the components in one system call. descend
// succeeds only for what step by step leads to the same directory: no component is a
// link (RESOLVE_NO_SYMLINKS) or leads up. After false, whatever the reason, the caller
// walks: it follows links by the rule, names the missing component, and serves kernels
// before 5.6, which lack openat2. at stays open.
func descend(at *Node, parts []string) (*Node, bool) {
	if len(parts) < 2 || slices.Contains(parts, "..") {
		return nil, false
	}
	below := path.Join(parts...)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(at.fd(), below, &how)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, false
		}
		return newNode(fd, path.Join(at.Path, below)), true
	}
}
