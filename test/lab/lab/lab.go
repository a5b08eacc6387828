// Package lab brings up and takes down labs: sets of real systemd hosts with
// sshd on a network of their own, on one machine. Each host is a privileged
// container in a network namespace of the lab's; the controller is any process
// inside the lab's namespace, see Lab.Command.
//
// Several labs live side by side under different names. All of them use the same
// addresses; their namespaces keep them apart.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/exec"
	"time"

	"deployer/test/lab/command"
	"deployer/test/lab/container"
	"deployer/test/lab/machine"
	"deployer/test/lab/netns"
	"deployer/test/lab/plan"
)

// Lab is a lab that is up.
type Lab struct {
	Name  string
	Hosts []plan.Host
	Files plan.Files // inventory, keys, known_hosts, ssh_config

	engine   container.Engine
	place    place
	boot     time.Duration
	packages []string
	report   func(string)
	owner    *lock // held by the process that a tied lab belongs to
}

// Options are what a caller may choose beyond the Spec.
type Options struct {
	// Report gets one line for each stage, from several goroutines; nil is fine.
	Report func(string)
	// Tied labs belong to this process: once it is gone, however it ended, Sweep
	// removes them. Others stay until Down.
	Tied bool
	// Packages are Debian packages that the hosts have beyond those of a bare one.
	Packages []string
	// Boot bounds how long one host may take to boot; 0 means DefaultBoot.
	Boot time.Duration
}

// DefaultBoot bounds a host's boot: some hundred times what it takes on an idle
// machine, for machines that build and test at the same time.
const DefaultBoot = 2 * time.Minute

// Open finds a lab that is up.
func Open(ctx context.Context, name string) (*Lab, error) {
	if err := plan.CheckName(name); err != nil {
		return nil, err
	}
	l, err := prepare(ctx, name, Options{})
	if err != nil {
		return nil, err
	}
	s, err := l.place.load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no lab %s; `up --name %s` makes one", name, name)
	}
	if err != nil {
		return nil, err
	}
	if !s.Complete {
		return nil, fmt.Errorf("lab %s is half made; `down --name %s` removes what is there", name, name)
	}
	l.Hosts = s.Hosts
	return l, nil
}

func prepare(ctx context.Context, name string, opt Options) (*Lab, error) {
	m, err := machine.Inspect(ctx)
	if err != nil {
		return nil, err
	}
	engine, err := container.New(m)
	if err != nil {
		return nil, err
	}
	where, err := defaultPlace()
	if err != nil {
		return nil, err
	}
	l := &Lab{Name: name, Files: where.files(name), engine: engine, place: where, boot: opt.Boot, packages: opt.Packages, report: opt.Report}
	if l.boot == 0 {
		l.boot = DefaultBoot
	}
	if l.report == nil {
		l.report = func(string) {}
	}
	return l, nil
}

// Host finds a host of the lab by its name.
func (l *Lab) Host(name string) (plan.Host, error) {
	for _, h := range l.Hosts {
		if h.Name == name {
			return h, nil
		}
	}
	return plan.Host{}, fmt.Errorf("lab %s has no host %q", l.Name, name)
}

// Command prepares argv to run as the controller: inside the lab's network and
// with everything else (directory, environment, files) as the caller has it.
func (l *Lab) Command(ctx context.Context, argv ...string) *exec.Cmd {
	full := l.Enter(argv...)
	return exec.CommandContext(ctx, full[0], full[1:]...)
}

// Enter is the command line that runs argv as the controller.
func (l *Lab) Enter(argv ...string) []string {
	return netns.Enter(plan.LabNamespace(l.Name), argv...)
}

// Ctl runs argv as the controller and returns its standard output.
func (l *Lab) Ctl(ctx context.Context, argv ...string) (string, error) {
	return command.Output(ctx, l.Enter(argv...)...)
}

// Listen listens on an address of the lab's own namespace, such as
// 172.31.0.1:5000, for a server in the calling process: the lab's hosts reach it,
// and nothing else does.
func (l *Lab) Listen(address string) (net.Listener, error) {
	return netns.Listen(plan.LabNamespace(l.Name), address)
}

// Dial connects to an address of the lab from its own namespace, for a client in
// the calling process.
func (l *Lab) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return netns.Dial(ctx, plan.LabNamespace(l.Name), network, address)
}

// SSH runs a shell command line on a host as root, over the lab's network and
// sshd, with the host's key checked, and returns its standard output.
func (l *Lab) SSH(ctx context.Context, host, line string) (string, error) {
	if _, err := l.Host(host); err != nil {
		return "", err
	}
	return l.Ctl(ctx, l.SSHArgs(host, line)...)
}

// SSHArgs is the ssh command line to a host, to be run as the controller.
func (l *Lab) SSHArgs(host string, words ...string) []string {
	return append([]string{"ssh", "-F", l.Files.SSHConfig(), host}, words...)
}

// Exec runs argv on a host as root without its network or sshd, so also while it
// is partitioned, and returns its standard output.
func (l *Lab) Exec(ctx context.Context, host string, argv ...string) (string, error) {
	if _, err := l.Host(host); err != nil {
		return "", err
	}
	return l.engine.Exec(ctx, l.box(host), argv...)
}

func (l *Lab) box(host string) string { return plan.HostResource(l.Name, host) }
