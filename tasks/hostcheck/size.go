package hostcheck

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/receipt"
)

const mib = 1 << 20

// installedShare is the divisor of the requirement on a host with an installation, which uses
// the space already; a tenth is enough for later changes.
const installedShare = 10

func (r Requirement) disk(sys engine.System) checkresult.Row {
	dir := r.Path
	var st syscall.Statfs_t
	for {
		err := syscall.Statfs(sys.Path(dir), &st)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == "/" {
			return checkresult.Problem("look at the file system", "%s cannot be looked at: %v", dir, err)
		}
		dir = filepath.Dir(dir) // the missing directory will be created below
	}
	want, share := int64(r.MinMiB), r.MinPercent
	if receipt.Claimed(sys) {
		want /= installedShare
		share = 0 // verify reports pressure of running kubelets
	}
	free, size := int64(st.Bavail)*st.Bsize/mib, int64(st.Blocks)*st.Bsize/mib
	switch {
	case st.Flags&unix.ST_RDONLY != 0:
		return checkresult.Problem("mount it writable", "the file system of %s is read-only", r.Path)
	case st.Flags&unix.ST_NOEXEC != 0 && strings.Contains(r.Path+"/", "/bin/"):
		return checkresult.Problem("mount it without noexec", "the file system of %s forbids to run programs", r.Path)
	case unix.Access(sys.Path(dir), unix.W_OK) != nil:
		return checkresult.Problem("run as root: set ssh.become", "%s cannot be written to", dir)
	case free < want:
		return checkresult.Problem("make room on the file system", "%d MiB free at %s, %d are needed", free, r.Path, want)
	case float64(free)*100 < share*float64(size):
		return checkresult.Problem("make room on the file system, or set evictionHard of the kubelet",
			"%d of %d MiB free at %s, %g %% are needed", free, size, r.Path, share)
	}
	return checkresult.OK("%d MiB free", free)
}

func (r Requirement) memory(sys engine.System) checkresult.Row {
	kib, err := meminfo(sys, "MemTotal")
	if err != nil {
		return checkresult.Problem("look at /proc/meminfo", "the size of memory cannot be read: %v", err)
	}
	if have := kib / 1024; have < int64(r.MinMiB) {
		return checkresult.Problem("give the host more memory", "%d MiB, %d are needed", have, r.MinMiB)
	}
	return checkresult.OK("%d MiB", kib/1024)
}

func meminfo(sys engine.System, key string) (int64, error) {
	f, err := os.Open(sys.Path("/proc/meminfo"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, found := strings.CutPrefix(lines.Text(), key+":"); found {
			return strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		}
	}
	return 0, errors.New("no line " + key)
}

func (r Requirement) cpu(sys engine.System) checkresult.Row {
	data, err := os.ReadFile(sys.Path("/proc/stat"))
	if err != nil {
		return checkresult.Problem("look at /proc/stat", "the processors cannot be counted: %v", err)
	}
	count := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "cpu") && !strings.HasPrefix(line, "cpu ") {
			count++
		}
	}
	if count < r.MinCount {
		return checkresult.Problem("give the host more processors", "%d, %d are needed", count, r.MinCount)
	}
	return checkresult.OK("%d", count)
}
