package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// setting is a limit of the kernel that all hosts of all labs share.
type setting struct {
	name string // as sysctl(8) writes it
	want uint64
}

// settings are those whose defaults are meant for one machine, not for ten on
// one kernel. A host with systemd, containerd and kubelet holds some 25 inotify
// instances of the default 128; when they run out systemd fails at boot, or
// later units that watch a path do (kind.sigs.k8s.io, known issues, "too many
// open files", which also has the number of watches).
func settings() []setting {
	return []setting{
		{"fs.inotify.max_user_instances", 8192},
		{"fs.inotify.max_user_watches", 524288},
	}
}

// RaiseLimits raises the kernel's limits that are too low for a lab and says
// which, in the form "name: old -> new". Higher ones stay. They are the
// machine's until its next boot; memory is used only for what is opened.
func RaiseLimits() ([]string, error) { return raise("/proc/sys") }

func raise(root string) ([]string, error) {
	var raised []string
	for _, s := range settings() {
		path := filepath.Join(root, strings.ReplaceAll(s.name, ".", "/"))
		text, err := os.ReadFile(path)
		if err != nil {
			return raised, fmt.Errorf("looking at a limit of the kernel: %w", err)
		}
		old, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return raised, fmt.Errorf("%s: %w", s.name, err)
		}
		if old >= s.want {
			continue
		}
		if err := os.WriteFile(path, []byte(strconv.FormatUint(s.want, 10)), 0o644); err != nil {
			return raised, fmt.Errorf("%s is %d, and a lab wants %d: %w; set it on the machine with sysctl", s.name, old, s.want, err)
		}
		raised = append(raised, fmt.Sprintf("%s: %d -> %d", s.name, old, s.want))
	}
	return raised, nil
}
