// Package machine inspects the machine of a lab: the layout of its cgroups, its limits,
// capabilities and programs. It derives the container engine and the flags of the
// containers from them.
package machine

import "strings"

// Cgroups is the layout in which the machine mounts its control groups.
type Cgroups string

// The layouts of control groups.
const (
	CgroupsV1     Cgroups = "v1"     // controllers in v1 hierarchies only
	CgroupsHybrid Cgroups = "hybrid" // v1 hierarchies and a v2 tree side by side
	CgroupsV2     Cgroups = "v2"     // one v2 tree at /sys/fs/cgroup
)

// ReadCgroups returns the layout from the text of /proc/self/mountinfo. In each line
// the type of the file system follows the separator " - " (proc_pid_mountinfo(5)).
func ReadCgroups(mountinfo string) Cgroups {
	var v1, v2 bool
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 5 || !strings.HasPrefix(fields[4], "/sys/fs/cgroup") {
			continue
		}
		switch fstype, _, _ := strings.Cut(after, " "); fstype {
		case "cgroup":
			v1 = true
		case "cgroup2":
			v2 = true
		}
	}
	switch {
	case v1 && v2:
		return CgroupsHybrid
	case v1:
		return CgroupsV1
	default:
		return CgroupsV2
	}
}
