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
	started := false
	for r := range requests {
		var exec struct{ Command string }
		ok := r.Type == "exec" && !started && gossh.Unmarshal(r.Payload, &exec) == nil
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
		switch {
		case ok:
			started = true
			go s.exec(ctx, user, exec.Command, channel)
		case r.Type == "signal":
			stop()
		}
	}
}

func (s *Server) exec(ctx context.Context, user, line string, channel gossh.Channel) {
	exit := s.cfg.Exec(ctx, Command{User: user, Line: line, Stdin: channel, Stdout: channel, Stderr: channel.Stderr()})
	_, _ = channel.SendRequest("exit-status", false, gossh.Marshal(struct{ Status uint32 }{uint32(exit)}))
	_ = channel.Close()
}

// Shell runs a command with /bin/sh, as the user that the server runs as.
func Shell(ctx context.Context, c Command) int { return RunShell(ctx, c, nil) }

// RunShell is Shell with environment variables instead of the server's own.
func RunShell(ctx context.Context, c Command, env []string) int {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", c.Line)
	cmd.Stdout, cmd.Stderr, cmd.Env = c.Stdout, c.Stderr, env
	// Like sshd, leave it to the command to notice that its client is gone.
	cmd.Cancel = func() error { return nil }
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A pipe of our own: with cmd.Stdin, Wait would wait for the client to
	// close its end.
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

// splice copies both ways, passes on the end of each, and closes both.
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
