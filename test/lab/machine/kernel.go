package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// setting is a limit of the kernel that the hosts of all labs share.
type setting struct {
	name string // as sysctl(8) writes it
	want uint64
}

// settings are the limits whose defaults are too low for ten hosts on one kernel. A host
// with systemd, containerd and kubelet uses about 25 of the default 128 inotify
// instances. Without a free instance systemd fails at boot, or units that watch a path
// fail later. The number of watches is from the known issues of kind.sigs.k8s.io ("too
// many open files").
func settings() []setting {
	return []setting{
		{"fs.inotify.max_user_instances", 8192},
		{"fs.inotify.max_user_watches", 524288},
	}
}

// RaiseLimits raises the kernel's limits that are too low for a lab, and returns them in
// the form "name: old -> new". Higher limits stay. The new limits apply until the next
// boot of the machine; they use no memory by themselves.
func RaiseLimits() ([]string, error) { return raise("/proc/sys") }

func raise(root string) ([]string, error) {
	var raised []string
	for _, s := range settings() {
		path := filepath.Join(root, strings.ReplaceAll(s.name, ".", "/"))
		text, err := os.ReadFile(path)
		if err != nil {
			return raised, fmt.Errorf("reading a limit of the kernel: %w", err)
		}
		old, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return raised, fmt.Errorf("%s: %w", s.name, err)
		}
		if old >= s.want {
			continue
		}
		if err := os.WriteFile(path, []byte(strconv.FormatUint(s.want, 10)), 0o644); err != nil {
			return raised, fmt.Errorf("raising %s from %d to %d: %w; set it on the machine with sysctl", s.name, old, s.want, err)
		}
		raised = append(raised, fmt.Sprintf("%s: %d -> %d", s.name, old, s.want))
	}
	return raised, nil
}
