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

// The engines a lab can use.
const (
	Podman Engine = "podman"
	Docker Engine = "docker"
)

type program struct{ name, debian string }

// programs lists what a lab may call and the Debian package that has it.
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

// Choose picks the engine, or says in one message everything that is missing.
// Podman comes first: it needs no daemon. Docker is taken when podman is not
// there but a docker daemon answers.
func (m Machine) Choose() (Engine, error) {
	if !m.Root {
		return "", errors.New("a lab needs root: it makes network namespaces and privileged containers; run it with sudo")
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
	if engine == Docker && !m.SysResource && older(m.Docker, dockerLooks) {
		return "", fmt.Errorf("docker %s asks for CAP_SYS_RESOURCE in --privileged, which this machine does not grant; on Debian: apt-get install podman runc", m.Docker)
	}
	return engine, nil
}

// dockerLooks is the first docker whose --privileged means the capabilities that
// the machine has, and not every one that the kernel knows (moby, oci/caps).
const dockerLooks = 23

// older says whether a version's first number is below major. One that does not
// start with a number is a build of somebody's own; nothing is held against it.
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
