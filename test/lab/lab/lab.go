// Package lab creates and removes labs: sets of real systemd hosts with sshd on a
// network of their own, on one machine. Each host is a privileged container in a network
// namespace of the lab; the controller is any process inside the lab's namespace, see
// Lab.Command.
//
// Several labs with different names can exist at a time. All of them use the same
// addresses; their namespaces keep them apart.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"time"

	"deployer/test/lab/command"
	"deployer/test/lab/container"
	"deployer/test/lab/machine"
	"deployer/test/lab/netns"
	"deployer/test/lab/plan"
)

// Lab is a running lab.
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

// Options are the options of Up beyond the Spec.
type Options struct {
	// Report receives one line for each stage, from several goroutines; may be nil.
	Report func(string)
	// Tied labs belong to this process: Sweep removes them after its end. Others exist until
	// Down.
	Tied bool
	// Packages are additional Debian packages of the hosts.
	Packages []string
	// Boot is the maximum duration of a host's boot; 0 means DefaultBoot.
	Boot time.Duration
}

// DefaultBoot is the default maximum duration of a boot: about a hundred times the
// duration on an idle machine, for machines that build and test meanwhile.
const DefaultBoot = 2 * time.Minute

// Open returns a running lab.
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
		return nil, fmt.Errorf("there is no lab %s; `up --name %s` creates it", name, name)
	}
	if err != nil {
		return nil, err
	}
	if !s.Complete {
		return nil, fmt.Errorf("lab %s is incomplete; `down --name %s` removes its parts", name, name)
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

// Host returns the host with a name.
func (l *Lab) Host(name string) (plan.Host, error) {
	for _, h := range l.Hosts {
		if h.Name == name {
			return h, nil
		}
	}
	return plan.Host{}, fmt.Errorf("lab %s has no host %q", l.Name, name)
}

// Command prepares argv to run as the controller: inside the lab's network, with the
// caller's directory, environment and files.
func (l *Lab) Command(ctx context.Context, argv ...string) *exec.Cmd {
	full := l.Enter(argv...)
	return exec.CommandContext(ctx, full[0], full[1:]...)
}

// Enter returns the command line that runs argv as the controller.
func (l *Lab) Enter(argv ...string) []string {
	return netns.Enter(plan.LabNamespace(l.Name), argv...)
}

// Ctl runs argv as the controller and returns its standard output.
func (l *Lab) Ctl(ctx context.Context, argv ...string) (string, error) {
	return command.Output(ctx, l.Enter(argv...)...)
}

// Listen listens on an address of the lab's namespace, such as 172.31.0.1:5000, for a
// server in the calling process. Only the hosts of the lab can connect.
func (l *Lab) Listen(address string) (net.Listener, error) {
	return netns.Listen(plan.LabNamespace(l.Name), address)
}

// Dial connects to an address of the lab from its own namespace, for a client in
// the calling process.
func (l *Lab) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return netns.Dial(ctx, plan.LabNamespace(l.Name), network, address)
}

// DialFrom connects to an address from the network of a host, for a client in the calling
// process. While the host is switched off the error is fs.ErrNotExist.
func (l *Lab) DialFrom(ctx context.Context, host, network, address string) (net.Conn, error) {
	if _, err := l.Host(host); err != nil {
		return nil, err
	}
	return netns.Dial(ctx, l.box(host), network, address)
}

// SSH runs a shell command line on a host as root, over the lab's network and
// sshd, with the host's key checked, and returns its standard output.
func (l *Lab) SSH(ctx context.Context, host, line string) (string, error) {
	if _, err := l.Host(host); err != nil {
		return "", err
	}
	return l.Ctl(ctx, l.SSHArgs(host, line)...)
}

// Copy copies a file of this machine to a host, over SSH. mode is octal, as in 0600.
func (l *Lab) Copy(ctx context.Context, host, from, to, mode string) error {
	if _, err := l.Host(host); err != nil {
		return err
	}
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	cmd := l.Command(ctx, l.SSHArgs(host, fmt.Sprintf("umask 077 && cat > %s && chmod %s %[1]s", to, mode))...)
	cmd.Stdin = f
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("copying %s to %s on %s: %w\n%s", from, to, host, err, out)
	}
	return nil
}

// SSHArgs returns the ssh command line for a host, to be run as the controller.
func (l *Lab) SSHArgs(host string, words ...string) []string {
	return append([]string{"ssh", "-F", l.Files.SSHConfig(), host}, words...)
}

// Exec runs argv on a host as root without using its network or sshd, so also during a
// partition, and returns its standard output.
func (l *Lab) Exec(ctx context.Context, host string, argv ...string) (string, error) {
	if _, err := l.Host(host); err != nil {
		return "", err
	}
	return l.engine.Exec(ctx, l.box(host), argv...)
}

func (l *Lab) box(host string) string { return plan.HostResource(l.Name, host) }
