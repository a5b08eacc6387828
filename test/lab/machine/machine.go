package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Machine describes a machine. It is a plain value, so that rules about it can be tested
// without the machine.
type Machine struct {
	Root        bool            // the process may create namespaces and devices
	Cgroups     Cgroups         //
	Systemd     bool            // systemd is the machine's init
	SysResource bool            // CAP_SYS_RESOURCE: hard limits may be raised
	HardFiles   uint64          // hard limit on open files
	HardProcs   uint64          // hard limit on processes
	Programs    map[string]bool // programs of a lab that are in the search path
	Docker      string          // version of the running docker daemon, "" without one; read only without podman
}

// Inspect returns the description of this machine. It changes nothing.
func Inspect(ctx context.Context) (Machine, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Machine{}, fmt.Errorf("reading the machine's cgroups: %w", err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Machine{}, fmt.Errorf("reading the capabilities: %w", err)
	}
	m := Machine{
		Root:        os.Geteuid() == 0,
		Cgroups:     ReadCgroups(string(mountinfo)),
		SysResource: boundingSet(string(status))&(1<<unix.CAP_SYS_RESOURCE) != 0,
		Programs:    map[string]bool{},
	}
	if m.HardFiles, err = hardLimit(unix.RLIMIT_NOFILE); err != nil {
		return Machine{}, err
	}
	if m.HardProcs, err = hardLimit(unix.RLIMIT_NPROC); err != nil {
		return Machine{}, err
	}
	_, err = os.Stat("/run/systemd/system") // sd_booted(3)
	m.Systemd = err == nil
	for _, p := range programs() {
		_, err := exec.LookPath(p.name)
		m.Programs[p.name] = err == nil
	}
	if m.Programs["docker"] && !m.Programs["podman"] {
		m.Docker = dockerVersion(ctx)
	}
	return m, nil
}

func hardLimit(resource int) (uint64, error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return 0, fmt.Errorf("reading resource limit %d: %w", resource, err)
	}
	return l.Max, nil
}

// boundingSet reads the CapBnd line of /proc/self/status. No child process can have a
// capability outside of this set, whatever a container engine requests.
func boundingSet(status string) uint64 {
	for line := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(line, "CapBnd:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			if err != nil {
				return 0
			}
			return set
		}
	}
	return 0
}

// dockerVersion returns the version of the docker daemon, "" when no daemon responds.
func dockerVersion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", "version", "--format", "{{.Server.Version}}").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
