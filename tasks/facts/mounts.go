package facts

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"deployer/engine"
)

// Mount is a mounted file system. Sizes are 0 when it does not answer, as a network file
// system without its server.
type Mount struct {
	Path       string `json:"path"`
	Source     string `json:"source"` // device, server or name
	Fstype     string `json:"fstype"`
	Options    string `json:"options"`
	SizeBytes  uint64 `json:"size_bytes"`
	FreeBytes  uint64 `json:"free_bytes"` // for users without privileges
	Inodes     uint64 `json:"inodes"`
	InodesFree uint64 `json:"inodes_free"`
}

// answersWithin is the maximum time for the sizes of all file systems together.
const answersWithin = 2 * time.Second

// kernels are the file systems that show the kernel's state only.
var kernels = strings.Fields("autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs efivarfs fusectl hugetlbfs mqueue " +
	"nsfs proc pstore ramfs rpc_pipefs securityfs selinuxfs sysfs tracefs")

func mounts(ctx context.Context, sys engine.System) (any, error) {
	text, err := os.ReadFile(sys.Path("/proc/self/mounts"))
	if err != nil {
		return nil, err
	}
	list := parseMounts(string(text))
	type answer struct {
		at   int
		stat unix.Statfs_t
		err  error
	}
	answers := make(chan answer, len(list))
	for i, m := range list {
		go func() {
			a := answer{at: i}
			a.err = unix.Statfs(sys.Path(m.Path), &a.stat)
			answers <- a
		}()
	}
	limit := time.NewTimer(answersWithin)
	defer limit.Stop()
	for range list {
		select {
		case a := <-answers:
			if a.err == nil {
				list[a.at].measure(a.stat)
			}
		case <-limit.C:
			return list, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return list, nil
}

func (m *Mount) measure(s unix.Statfs_t) {
	block := uint64(s.Bsize) //nolint:gosec // never negative
	m.SizeBytes, m.FreeBytes, m.Inodes, m.InodesFree = s.Blocks*block, s.Bavail*block, s.Files, s.Ffree
}

// parseMounts parses proc_pid_mounts(5), without the kernel's own file systems.
func parseMounts(text string) []Mount {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	out := []Mount{}
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(f) < 4 || slices.Contains(kernels, f[2]) {
			continue
		}
		out = append(out, Mount{Source: unescape.Replace(f[0]), Path: unescape.Replace(f[1]), Fstype: f[2], Options: f[3]})
	}
	return out
}
