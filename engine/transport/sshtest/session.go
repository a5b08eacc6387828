package sshtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"sync"
	"syscall"
	"time"

	gossh "golang.org/x/crypto/ssh"
)

// session serves one session channel: one exec request.
func (s *Server) session(ctx context.Context, user string, offered gossh.NewChannel) {
	channel, requests, err := offered.Accept()
	if err != nil {
		return
	}
	defer func() { _ = channel.Close() }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := Command{User: user, Stdin: channel, Stdout: channel, Stderr: channel.Stderr()}
	started := false
	for r := range requests {
		var exec struct{ Command string }
		ok := false
		switch r.Type {
		case "exec":
			ok = !started && !s.cfg.NoCommands && gossh.Unmarshal(r.Payload, &exec) == nil
		case "pty-req":
			ok = !started && !s.cfg.NoTerminal && cmd.terminal(r.Payload)
		case "signal":
			stop()
		}
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
		if ok && r.Type == "exec" {
			started = true
			cmd.Line = exec.Command
			go s.exec(ctx, cmd, channel)
		}
	}
}

// terminal records the content of a pty-req request.
func (c *Command) terminal(payload []byte) bool {
	var want struct {
		Term                         string
		Columns, Rows, Width, Height uint32
		Modes                        string
	}
	if gossh.Unmarshal(payload, &want) != nil {
		return false
	}
	c.Terminal, c.Modes = true, []byte(want.Modes)
	return true
}

func (s *Server) exec(ctx context.Context, cmd Command, channel gossh.Channel) {
	exit := s.cfg.Exec(ctx, cmd)
	_, _ = channel.SendRequest("exit-status", false, gossh.Marshal(struct{ Status uint32 }{uint32(exit)}))
	_ = channel.Close()
}

// Shell runs a command with /bin/sh, as the user of the server.
func Shell(ctx context.Context, c Command) int { return RunShell(ctx, c, nil) }

// RunShell works like Shell, with environment variables instead of the server's own.
func RunShell(ctx context.Context, c Command, env []string) int {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", c.Line)
	cmd.Stdout, cmd.Stderr, cmd.Env = c.Stdout, c.Stderr, env
	// Like sshd, the server does not end the command when its client disconnects.
	cmd.Cancel = func() error { return nil }
	if c.Terminal {
		return runOnTerminal(ctx, cmd, c)
	}
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The pipe is created here: with cmd.Stdin, Wait would wait until the client closes its
	// end.
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 127
	}
	if err := cmd.Start(); err != nil {
		_, _ = fmt.Fprintln(c.Stderr, err)
		return 127
	}
	go func() {
		_, _ = io.Copy(stdin, c.Stdin)
		_ = stdin.Close()
	}()
	_ = cmd.Wait()
	return max(cmd.ProcessState.ExitCode(), 0)
}

// forward serves one direct-tcpip channel.
func (s *Server) forward(ctx context.Context, offered gossh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := gossh.Unmarshal(offered.ExtraData(), &to); err != nil {
		_ = offered.Reject(gossh.ConnectionFailed, "bad request")
		return
	}
	if s.cfg.NoForwarding {
		_ = offered.Reject(gossh.Prohibited, "forwarding is not allowed")
		return
	}
	target, err := s.cfg.Dial(ctx, "tcp", net.JoinHostPort(to.Host, fmt.Sprint(to.Port)))
	if err != nil {
		_ = offered.Reject(gossh.ConnectionFailed, err.Error())
		return
	}
	channel, requests, err := offered.Accept()
	if err != nil {
		_ = target.Close()
		return
	}
	go gossh.DiscardRequests(requests)
	splice(channel, target)
}

// splice copies in both directions, forwards each end of file, and closes both.
func splice(channel gossh.Channel, target net.Conn) {
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(channel, target)
		_ = channel.CloseWrite()
	})
	both.Go(func() {
		_, _ = io.Copy(target, channel)
		if half, ok := target.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		} else {
			_ = target.Close()
		}
	})
	both.Wait()
	_ = channel.Close()
	_ = target.Close()
}
