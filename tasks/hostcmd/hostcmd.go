// Package hostcmd runs programs on the host for modules and turns their
// failures into errors that can be read at 3 a.m.
package hostcmd

import (
	"context"
	"fmt"
	"strings"

	"deployer/engine"
	"deployer/shellquote"
)

// Run runs argv and returns its standard output. An exit code other than 0 is
// an error that carries the last line of stderr, with the end of the output as
// its detail.
func Run(ctx context.Context, sys engine.System, argv ...string) (string, error) {
	return RunCommand(ctx, sys, engine.Command{Argv: argv})
}

// RunCommand is Run for a whole command.
func RunCommand(ctx context.Context, sys engine.System, cmd engine.Command) (string, error) {
	res, err := sys.Run(ctx, cmd)
	if err != nil {
		return "", fmt.Errorf("running %s: %w", Quote(cmd.Argv), err)
	}
	if res.Exit != 0 {
		return res.Stdout, Failed(cmd.Argv, res)
	}
	return res.Stdout, nil
}

// Failed describes a command that ended with another exit code than 0.
func Failed(argv []string, res engine.CommandResult) *engine.Failure {
	text := res.Stderr
	if strings.TrimSpace(text) == "" {
		text = res.Stdout
	}
	msg := fmt.Sprintf("%s ended with exit code %d", Quote(argv), res.Exit)
	if last := lastLine(text); last != "" {
		msg += ": " + last
	}
	return &engine.Failure{Message: msg, Detail: Tail(text, 20), Exit: res.Exit}
}

// Tail returns the last n lines of text.
func Tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

func lastLine(text string) string {
	line := strings.TrimSpace(Tail(strings.TrimSpace(text), 1))
	if len(line) > 300 {
		line = line[:300] + "..."
	}
	return line
}

// Quote returns a command line for messages: argv quoted for a POSIX shell, cut after
// 200 bytes.
func Quote(argv []string) string {
	line := shellquote.Line(argv)
	if len(line) > 200 {
		line = line[:200] + "..."
	}
	return line
}
