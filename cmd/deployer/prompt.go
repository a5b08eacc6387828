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

// prompt asks who runs deployer.
type prompt struct {
	in  io.Reader // must be a terminal
	out io.Writer
}

// errNoTerminal says that nobody can be asked.
var errNoTerminal = &target.NotInteractiveError{Why: "the standard input is not a terminal"}

// secret is a target.Asker: it asks for a line that is not shown.
func (p prompt) secret(question string) (string, error) {
	answer, err := p.ask(question, term.ReadPassword)
	if !errors.Is(err, errNoTerminal) {
		fmt.Fprintln(p.out) // the line's end was not shown either
	}
	return answer, err
}

// open is a target.Asker that shows what is typed.
func (p prompt) open(question string) (string, error) { return p.ask(question, readLine) }

// ask has read read a line from the terminal. An interrupt gives the terminal back
// as it was.
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
		return "", fmt.Errorf("asking %q: %w", question, err)
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
			return "", fmt.Errorf("asking %q: %w", question, l.err)
		}
		return string(l.text), nil
	case <-interrupt:
		return "", errors.Join(silent(exitInterrupted), term.Restore(terminal, before))
	}
}

// readLine reads byte by byte, so that nothing of the next answer is taken.
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
