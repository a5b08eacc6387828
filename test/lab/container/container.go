// Package container runs the hosts of a lab with podman or docker, through the
// engine's command line.
package container

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"deployer/test/lab/command"
	"deployer/test/lab/machine"
	"deployer/test/lab/plan"
)

// Engine is a container engine of this machine.
type Engine struct {
	kind machine.Engine
	host machine.Machine
}

// New selects the engine of this machine, or returns an error with the missing packages.
func New(m machine.Machine) (Engine, error) {
	kind, err := m.Choose()
	return Engine{kind: kind, host: m}, err
}

// Kind is podman or docker.
func (e Engine) Kind() machine.Engine { return e.kind }

func (e Engine) argv(args ...string) []string {
	return append(append([]string{string(e.kind)}, e.host.EngineFlags(e.kind)...), args...)
}

func (e Engine) run(ctx context.Context, args ...string) (string, error) {
	return command.Output(ctx, e.argv(args...)...)
}

// Box describes the container of a host.
type Box struct {
	Lab     string
	Host    plan.Host
	Image   string
	Network string            // path of the network namespace to join
	Env     map[string]string // for the host's first program
}

// Run creates and starts the container.
func (e Engine) Run(ctx context.Context, b Box) error {
	_, err := e.run(ctx, e.runArgs(b)...)
	return err
}

func (e Engine) runArgs(b Box) []string {
	args := append([]string{"run", "--detach", "--pull=never"}, e.host.HostFlags(e.kind)...)
	args = append(args,
		"--name="+plan.HostResource(b.Lab, b.Host.Name),
		"--hostname="+b.Host.Name,
		"--label="+plan.Label+"="+b.Lab,
		"--network="+e.network(b.Network))
	for _, k := range slices.Sorted(maps.Keys(b.Env)) {
		args = append(args, "--env="+k+"="+b.Env[k])
	}
	for _, path := range plan.VolumePaths() {
		args = append(args, "--volume="+plan.VolumeResource(b.Lab, b.Host.Name, path)+":"+path+e.volumeOptions())
	}
	return append(args, b.Image)
}

// Inside runs argv, in the image, as a container in a network namespace of the lab.
// nsenter enters it, which works with every engine.
func (e Engine) Inside(ctx context.Context, lab, name, image, namespace string, argv ...string) error {
	const there = "/run/lab-network"
	args := []string{"run", "--detach", "--pull=never", "--privileged", "--network=none",
		"--name=" + plan.HostResource(lab, name), "--label=" + plan.Label + "=" + lab,
		"--volume=" + namespace + ":" + there}
	if e.kind == machine.Podman {
		args = append(args, "--log-driver=k8s-file")
	}
	args = append(args, e.host.Limits()...)
	args = append(args, image, "nsenter", "--net="+there, "--")
	_, err := e.run(ctx, append(args, argv...)...)
	return err
}

// network returns podman's option for an existing namespace. Docker has none: its
// containers get an empty namespace, which the lab names and connects once the container
// runs.
func (e Engine) network(path string) string {
	if e.kind == machine.Podman {
		return "ns:" + path
	}
	return "none"
}

// JoinsNamespace reports whether containers start in an existing namespace.
func (e Engine) JoinsNamespace() bool { return e.kind == machine.Podman }

// volumeOptions remove podman's default options nodev and nosuid from volumes: images
// unpacked by the host's containerd contain both.
func (e Engine) volumeOptions() string {
	if e.kind == machine.Podman {
		return ":suid,dev,exec"
	}
	return ""
}

// Start starts a stopped container.
func (e Engine) Start(ctx context.Context, name string) error {
	_, err := e.run(ctx, "start", name)
	return err
}

// Kill ends every process of the container at once and waits until it is down.
// A container that is not running is no error.
func (e Engine) Kill(ctx context.Context, name string) error {
	up, err := e.Running(ctx, name)
	if err != nil || !up {
		return err
	}
	if _, err := e.run(ctx, "kill", "--signal=KILL", name); err != nil {
		return err
	}
	return e.Wait(ctx, name)
}

// Wait returns when the container has stopped.
func (e Engine) Wait(ctx context.Context, name string) error {
	_, err := e.Ended(ctx, name)
	return err
}

// RebootCode is the exit code of a container whose first process has requested a reboot:
// the kernel ends a process namespace by SIGHUP then.
const RebootCode = 128 + int(syscall.SIGHUP)

// Ended waits until the container has stopped and returns its exit code.
func (e Engine) Ended(ctx context.Context, name string) (int, error) {
	out, err := e.run(ctx, "wait", name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(out))
}

// Running reports whether the container runs.
func (e Engine) Running(ctx context.Context, name string) (bool, error) {
	out, err := e.run(ctx, "container", "inspect", "--format={{.State.Running}}", name)
	return out == "true", err
}

// Process returns the id, on the machine, of the container's first process.
func (e Engine) Process(ctx context.Context, name string) (string, error) {
	return e.run(ctx, "container", "inspect", "--format={{.State.Pid}}", name)
}

// Exec runs argv inside the container as root and returns what it printed.
func (e Engine) Exec(ctx context.Context, name string, argv ...string) (string, error) {
	return e.run(ctx, append([]string{"exec", name}, argv...)...)
}

// Logs returns the output of the container's first program.
func (e Engine) Logs(ctx context.Context, name string) (string, error) {
	return e.run(ctx, "logs", "--tail=20", name)
}

// HasImage reports whether the engine has an image of that reference.
func (e Engine) HasImage(ctx context.Context, ref string) (bool, error) {
	_, err := e.run(ctx, "image", "inspect", "--format={{.Id}}", ref)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return false, nil
	}
	return err == nil, err
}

// ImportImage creates an image from a tar of a root file system.
func (e Engine) ImportImage(ctx context.Context, rootfs, ref string, cmd []string) error {
	quoted := make([]string, len(cmd))
	for i, w := range cmd {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	change := "CMD [" + strings.Join(quoted, ",") + "]"
	_, err := e.run(ctx, "import", "--change="+change, rootfs, ref)
	return err
}
