package main

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestInterruptedPromptRestoresTerminal checks that the terminal echoes again after an
// interrupted prompt.
func TestInterruptedPromptRestoresTerminal(t *testing.T) {
	tty := newTerminalUser(t)
	echoes := func() bool {
		modes, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return modes.Lflag&unix.ECHO != 0
	}
	done := make(chan error, 1)
	go func() {
		_, err := prompt{tty.File, io.Discard}.secret("password: ")
		done <- err
	}()
	for echoes() {
		time.Sleep(time.Millisecond)
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := <-done; exitCode(err) != exitInterrupted || !echoes() {
		t.Errorf("exit code %d, the terminal shows what is typed: %v", exitCode(err), echoes())
	}
	if _, err := tty.master.WriteString("late\n"); err != nil { // ends the read that is still on its way
		t.Error(err)
	}
}

func TestPromptWithoutTerminal(t *testing.T) {
	for _, in := range []io.Reader{nil, strings.NewReader("secret\n")} {
		if _, err := (prompt{in, io.Discard}).secret("?"); !errors.Is(err, errNoTerminal) {
			t.Errorf("got %v", err)
		}
	}
}
