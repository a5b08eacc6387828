package imagetest

import (
	"strconv"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/runtime-spec/specs-go"

	"deployer/images/imagefile"
)

// containerSpec returns runc's configuration for one test: namespaces of its own, no
// network but loopback, and no capabilities.
func containerSpec(image v1.Config, test imagefile.Test) specs.Spec {
	user := test.User
	if user == "" {
		user = image.User
	}
	dir := image.WorkingDir
	if dir == "" {
		dir = "/"
	}
	return specs.Spec{
		Version: specs.Version,
		Root:    &specs.Root{Path: "rootfs"},
		Process: &specs.Process{
			Args: test.Command, Env: image.Env, Cwd: dir, User: numbers(user), NoNewPrivileges: true,
		},
		Mounts: []specs.Mount{
			{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
			{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
		},
		Linux: &specs.Linux{Namespaces: []specs.LinuxNamespace{
			{Type: specs.PIDNamespace}, {Type: specs.NetworkNamespace}, {Type: specs.IPCNamespace},
			{Type: specs.UTSNamespace}, {Type: specs.MountNamespace},
		}},
	}
}

// numbers parses "user:group"; both are 0 when they are missing or names.
func numbers(user string) specs.User {
	uid, gid, _ := strings.Cut(user, ":")
	number := func(text string) uint32 {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return 0
		}
		return uint32(n)
	}
	return specs.User{UID: number(uid), GID: number(gid)}
}
