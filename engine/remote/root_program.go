package remote

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"time"

	"deployer/engine/transport"
	"deployer/shellquote"
)

// RootProgram is a running program of root that is not the agent. Close closes the
// connection too.
type RootProgram struct {
	transport.Process
	conn   transport.Conn
	out    io.Reader
	marker string
}

// StartAsRoot runs lines for a POSIX shell as root, without the agent, and returns when they
// run. On a terminal, which is in raw mode, standard error is part of the output. The program
// owns conn; after an error conn is closed.
//
// The error is a *transport.Error, or the cause of ctx when ctx ended first.
func StartAsRoot(ctx context.Context, conn transport.Conn, opts Options, lines string, terminal bool) (*RootProgram, error) {
	opts = opts.withDefaults()
	c := &connector{conn: conn, opts: opts, started: time.Now(), terminal: terminal}
	c.marker = newMarker()
	p, err := c.startAsRoot(ctx, lines)
	if errors.Is(err, errNeedsTerminal) {
		c.terminal = true
		p, err = c.startAsRoot(ctx, lines)
	}
	if err == nil {
		return p, nil
	}
	return nil, c.failure(ctx, err)
}

func (c *connector) startAsRoot(ctx context.Context, lines string) (*RootProgram, error) {
	t, err := c.startCommand(ctx, rootCommand(c.marker, c.method(), lines))
	if err != nil {
		return nil, err
	}
	if err := c.awaitProbe(ctx, t); err != nil {
		_ = t.Close()
		return nil, err
	}
	t.stdoutTail.muted.Store(true)
	return &RootProgram{Process: t.Process, conn: c.conn, out: t.out, marker: c.marker}, nil
}

// Stdout implements transport.Process.
func (p *RootProgram) Stdout() io.Reader { return p.out }

// Stderr implements transport.Process. The output of the privilege escalation is not in it.
func (p *RootProgram) Stderr() string { return p.ownStderr(p.Process.Stderr()) }

// Wait implements transport.Process.
func (p *RootProgram) Wait() (transport.Exit, error) {
	exit, err := p.Process.Wait()
	exit.Stderr = p.ownStderr(exit.Stderr)
	return exit, err
}

// ownStderr returns what follows the marker; all of a text whose begin is lost.
func (p *RootProgram) ownStderr(text string) string {
	if _, own, ok := strings.Cut(text, p.marker+"\n"); ok {
		return own
	}
	return text
}

// Resize sets the size of the terminal, if there is one.
func (p *RootProgram) Resize(rows, columns int) error {
	if r, ok := p.Process.(transport.Resizer); ok {
		return r.Resize(rows, columns)
	}
	return nil
}

// Close implements transport.Process.
func (p *RootProgram) Close() error {
	err := p.Process.Close()
	return errors.Join(err, p.conn.Close())
}

// rootScript runs with the privileges of root. $4 are the lines in base64, because a command
// line that is the same in every login shell cannot have all characters; $5 is the locale.
const rootScript = `[ -t 0 ] && stty raw -echo 2>/dev/null; printf "\n%s\n" "$2"; ` +
	`if [ -n "$5" ]; then LC_ALL=$5; export LC_ALL; else unset LC_ALL; fi; ` +
	`[ -t 2 ] || echo "$2" >&2; echo "user=$(id -u)"; l=$(echo "$4" | base64 -d); echo ready=yes; exec sh -c "$l" deployer`

// rootCommand returns the command line of StartAsRoot.
func rootCommand(marker, method, lines string) string {
	words := []string{"sh -c", shellquote.Word(outerScript), "deployer", shellquote.Word(rootScript), marker, method, base64.StdEncoding.EncodeToString([]byte(lines))}
	return strings.Join(words, " ")
}
