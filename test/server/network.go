package server

import (
	"context"
	"net"
	"os/exec"
)

// Network is the network of a server: that of this machine, or of the namespace of a lab.
type Network interface {
	// Command returns a command that runs in the network.
	Command(ctx context.Context, argv ...string) *exec.Cmd
	// Dial connects to an address of the network.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// Machine is the network of this machine.
type Machine struct{ net.Dialer }

// Command returns a command.
func (*Machine) Command(ctx context.Context, argv ...string) *exec.Cmd {
	return exec.CommandContext(ctx, argv[0], argv[1:]...) //nolint:gosec // the test's own command
}

// Dial connects to an address.
func (m *Machine) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return m.DialContext(ctx, network, address)
}
