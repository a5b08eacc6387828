package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"deployer/runs/reach"
)

// prompt asks who runs deployer for secrets.
type prompt struct {
	in  io.Reader // must be a terminal
	out io.Writer
}

// errNoTerminal says that nobody can be asked.
var errNoTerminal = &reach.NobodyError{Why: "the standard input is not a terminal"}

// secret is a reach.Asker: it asks for a line that is not shown. An interrupt gives the terminal back
// as it was.
func (p prompt) secret(question string) (string, error) {
	f, ok := p.in.(*os.File)
	if !ok {
		return "", errNoTerminal
	}
	terminal := int(f.Fd())
	if !term.IsTerminal(terminal) {
		return "", errNoTerminal
	}
	before, err := term.GetState(terminal)
	if err != nil {
		return "", fmt.Errorf("asking for a password: %w", err)
	}
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupt)
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	fmt.Fprint(p.out, question)
	go func() {
		text, err := term.ReadPassword(terminal)
		read <- line{text, err}
	}()
	defer fmt.Fprintln(p.out) // the line's end was not shown either
	select {
	case l := <-read:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", fmt.Errorf("asking for a password: %w", l.err)
		}
		return string(l.text), nil
	case <-interrupt:
		return "", errors.Join(silent(exitInterrupted), term.Restore(terminal, before))
	}
}
