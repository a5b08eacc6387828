package machine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Engine is the container engine that runs a lab's hosts.
type Engine string

// The supported container engines.
const (
	Podman Engine = "podman"
	Docker Engine = "docker"
)

type program struct{ name, debian string }

// programs lists the programs that a lab runs, each with its Debian package.
func programs() []program {
	return []program{
		{"podman", "podman"},
		{"docker", "docker.io"},
		{"runc", "runc"},
		{"mmdebstrap", "mmdebstrap"},
		{"ip", "iproute2"},
		{"nsenter", "util-linux"},
		{"ssh", "openssh-client"},
		{"ssh-keygen", "openssh-client"},
	}
}

// Choose returns the engine, or one error with everything that is missing. Podman is
// preferred, as it needs no daemon. Docker is chosen when podman is missing and a docker
// daemon responds.
func (m Machine) Choose() (Engine, error) {
	if !m.Root {
		return "", errors.New("a lab needs root: it creates network namespaces and privileged containers; run it with sudo")
	}
	engine := Podman
	if !m.Programs["podman"] && m.Docker != "" {
		engine = Docker
	}
	var missing []string
	for _, p := range programs() {
		if !m.Programs[p.name] && m.needs(engine, p.name) && !slices.Contains(missing, p.debian) {
			missing = append(missing, p.debian)
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("a lab needs programs that this machine lacks; on Debian: apt-get install %s", strings.Join(missing, " "))
	}
	if engine == Docker && !m.SysResource && older(m.Docker, boundedDocker) {
		return "", fmt.Errorf("docker %s requests CAP_SYS_RESOURCE for --privileged, which this machine does not grant; on Debian: apt-get install podman runc", m.Docker)
	}
	return engine, nil
}

// boundedDocker is the first version of docker whose --privileged requests the
// capabilities of the machine instead of all capabilities of the kernel (moby,
// oci/caps).
const boundedDocker = 23

// older reports whether the first number of a version is below major. A version without
// a number, such as that of a custom build, counts as recent.
func older(version string, major int) bool {
	digits, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(digits)
	return err == nil && n < major
}

func (m Machine) needs(e Engine, program string) bool {
	switch program {
	case "docker":
		return e == Docker
	case "podman":
		return e == Podman
	case "runc":
		return e == Podman && m.Cgroups != CgroupsV2 // see EngineFlags
	default:
		return true
	}
}
