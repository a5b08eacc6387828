package sshtest

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/creack/pty"
	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// flags are the terminal modes of RFC 4254, section 8, that the server applies.
var flags = map[byte]struct {
	of   func(*unix.Termios) *uint32
	flag uint32
}{
	gossh.ECHO:   {local, unix.ECHO},
	gossh.ICANON: {local, unix.ICANON},
	gossh.ISIG:   {local, unix.ISIG},
	gossh.IEXTEN: {local, unix.IEXTEN},
	gossh.OPOST:  {output, unix.OPOST},
	gossh.ONLCR:  {output, unix.ONLCR},
	gossh.ICRNL:  {input, unix.ICRNL},
	gossh.INLCR:  {input, unix.INLCR},
	gossh.IGNCR:  {input, unix.IGNCR},
	gossh.IXON:   {input, unix.IXON},
}

func local(t *unix.Termios) *uint32  { return &t.Lflag }
func input(t *unix.Termios) *uint32  { return &t.Iflag }
func output(t *unix.Termios) *uint32 { return &t.Oflag }

// setModes sets the modes of a pty-req request.
func setModes(tty *os.File, modes []byte) error {
	t, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		return err
	}
	for ; len(modes) >= 5; modes = modes[5:] {
		f, known := flags[modes[0]]
		if !known {
			continue
		}
		field := f.of(t)
		*field &^= f.flag
		if binary.BigEndian.Uint32(modes[1:]) != 0 {
			*field |= f.flag
		}
	}
	return unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, t)
}

// runOnTerminal runs a command on a new terminal, which hangs up when the client
// disconnects.
func runOnTerminal(ctx context.Context, cmd *exec.Cmd, c Command) int {
	leader, tty, err := pty.Open()
	if err != nil {
		return 127
	}
	defer func() { _ = leader.Close() }()
	if err := setModes(tty, c.Modes); err != nil {
		return 127
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = tty.Close()
	if err != nil {
		return 127
	}
	hangUp := context.AfterFunc(ctx, func() { _ = leader.Close() })
	defer hangUp()
	go func() { _, _ = io.Copy(leader, c.Stdin) }()
	_, _ = io.Copy(c.Stdout, leader) // ends with an error when nobody has the terminal any more
	_ = cmd.Wait()
	return max(cmd.ProcessState.ExitCode(), 0)
}
