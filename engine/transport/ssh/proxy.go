package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"deployer/engine/transport"
)

// proxyConn is a connection over a command's input and output.
type proxyConn struct {
	net.Conn
	cmd    *exec.Cmd
	stderr transport.Tail
	once   sync.Once
	ended  chan struct{}
	exit   error // valid once ended is closed
}

// dialCommand runs a ProxyCommand.
func dialCommand(ctx context.Context, line string) (*proxyConn, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("creating a socket pair for the ProxyCommand: %w", err)
	}
	mine, its := os.NewFile(uintptr(pair[0]), "proxy"), os.NewFile(uintptr(pair[1]), "proxy")
	defer func() { _, _ = mine.Close(), its.Close() }()
	conn, err := net.FileConn(mine)
	if err != nil {
		return nil, fmt.Errorf("creating a socket pair for the ProxyCommand: %w", err)
	}
	p := &proxyConn{Conn: conn, cmd: exec.Command("/bin/sh", "-c", "exec "+line), ended: make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = its, its, &p.stderr
	// A process group of its own, so that Ctrl-C at the terminal reaches only deployer.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.WaitDelay = time.Second
	if err := p.cmd.Start(); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("starting the ProxyCommand: %w", err)
	}
	go func() {
		p.exit = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// RemoteAddr returns a placeholder: only the command knows the address.
func (p *proxyConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4zero} }

// Close closes the connection, and terminates a command that does not exit by
// itself.
func (p *proxyConn) Close() error {
	err := p.Conn.Close()
	p.once.Do(func() {
		go func() {
			select {
			case <-p.ended:
			case <-time.After(time.Second):
				_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGHUP)
			}
		}()
	})
	return err
}

// explain returns the error for a handshake that failed because the command has
// exited.
func (p *proxyConn) explain(t Target, err error) error {
	if !isTurnedAway(err) {
		return err
	}
	_ = p.Close()
	select {
	case <-p.ended:
	case <-time.After(time.Second):
		return err
	}
	cause := errors.New("the ProxyCommand has exited")
	if p.exit != nil {
		cause = fmt.Errorf("the ProxyCommand has exited: %w", p.exit)
	}
	if words := p.stderr.String(); words != "" {
		cause = fmt.Errorf("%w: %s", cause, words)
	}
	return &transport.Error{Host: t.Host, Stage: transport.StageConnect, Kind: transport.Unreachable, Err: cause,
		Advice: "try the command by hand; it comes from the SSH client configuration (ssh.config)"}
}
