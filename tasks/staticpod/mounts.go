package staticpod

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"

	"deployer/engine"
)

// staleMountError reports a container that sees a file or directory of the host as it was
// before it was deleted and made again: a bind mount follows the inode, not the path. Only
// another container gets the new one.
type staleMountError struct {
	id   string // of the container
	name string // of the container in its pod
	path string // of the host
}

func (e *staleMountError) Error() string {
	return fmt.Sprintf("container %s still has the deleted %s mounted", e.name, e.path)
}

// effect is the restart of the pod's container.
func (e *staleMountError) effect(m manifest) engine.Effect {
	return engine.Effect{
		Kind: engine.EffectRestart, Target: "static pod " + m.Metadata.Name,
		Action: "restart", Reason: "it has the deleted " + e.path + " mounted",
	}
}

// staleMount returns the first path of the host that a container has mounted although it was
// deleted, and that exists again; empty for none. Files that are not deployer's are ignored:
// a package may replace one at any time, and programs read it once.
func staleMount(sys engine.System, m manifest, c container, pid string) string {
	deleted := deletedMounts(sys, pid)
	if len(deleted) == 0 {
		return ""
	}
	for _, mount := range c.VolumeMounts {
		path := m.hostPath(mount.Name)
		if path != "" && slices.Contains(deleted, mount.MountPath) && existsAgain(sys, path) {
			return path
		}
	}
	return ""
}

// existsAgain reports whether a deleted path is there, or will be after earlier steps of a dry
// run.
func existsAgain(sys engine.System, path string) bool {
	if view, ok := sys.(engine.DryRunView); ok && view.WouldChange(path) {
		return true
	}
	info, err := os.Stat(sys.Path(path))
	return err == nil && (info.IsDir() || strings.HasPrefix(path, "/etc/kubernetes/"))
}

// deletedMark is the end of a mount's root in mountinfo when it was deleted (Linux fs/d_path.c,
// dentry_path).
const deletedMark = "//deleted"

// deletedMounts returns the mount points of a process whose sources were deleted; none when the
// process has ended.
func deletedMounts(sys engine.System, pid string) []string {
	f, err := os.Open(sys.Path("/proc/" + pid + "/mountinfo"))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	var out []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// id, parent, device, root, mount point (proc_pid_mountinfo(5))
		if field := strings.Fields(lines.Text()); len(field) > 5 && strings.HasSuffix(field[3], deletedMark) {
			out = append(out, unescaped.Replace(field[4]))
		}
	}
	return out
}

// unescaped replaces the escapes of mountinfo.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
