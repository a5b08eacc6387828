package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"deployer/runs/target"
)

// prompt reads answers of the user from a terminal.
type prompt struct {
	in  io.Reader // must be a terminal
	out io.Writer
}

var errNoTerminal = &target.NotInteractiveError{Why: "standard input is not a terminal"}

// secret is a target.Prompter that does not echo the answer.
func (p prompt) secret(question string) (string, error) {
	answer, err := p.ask(question, term.ReadPassword)
	if !errors.Is(err, errNoTerminal) {
		fmt.Fprintln(p.out) // the end of the line was not echoed
	}
	return answer, err
}

// open is a target.Prompter that echoes the answer.
func (p prompt) open(question string) (string, error) { return p.ask(question, readLine) }

// ask prints a question and reads a line with read. ask restores the terminal state on
// an interrupt.
func (p prompt) ask(question string, read func(terminal int) ([]byte, error)) (string, error) {
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
		return "", fmt.Errorf("prompting for %q: %w", question, err)
	}
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupt)
	type line struct {
		text []byte
		err  error
	}
	done := make(chan line, 1)
	fmt.Fprint(p.out, question)
	go func() {
		text, err := read(terminal)
		done <- line{text, err}
	}()
	select {
	case l := <-done:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", fmt.Errorf("prompting for %q: %w", question, l.err)
		}
		return string(l.text), nil
	case <-interrupt:
		return "", errors.Join(exitSilently(exitInterrupted), term.Restore(terminal, before))
	}
}

// readLine reads byte by byte, so that it does not consume a part of the next answer.
func readLine(terminal int) ([]byte, error) {
	var out []byte
	one := make([]byte, 1)
	for {
		switch n, err := syscall.Read(terminal, one); {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return out, err
		case n == 0 || one[0] == '\n':
			return out, nil
		default:
			out = append(out, one[0])
		}
	}
}
