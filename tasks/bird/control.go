package bird

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// answerTimeout is the maximum time of one command.
const answerTimeout = 10 * time.Second

// maxAnswer bounds the answer of one command in bytes; a session is a line of about 100.
const maxAnswer = 4 << 20

// ask sends a command to BIRD's control socket and returns the lines of the answer without their
// codes. The protocol is that of BIRD 1 and 2 (nest/cli.c): each line begins with four digits and
// a minus, or a space for the last line; a line that begins with a space continues the code before.
// A code from 8000 on is an error of the command.
func ask(ctx context.Context, socket, command string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("connecting to BIRD: %w", err)
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	answers := &answers{lines: bufio.NewScanner(conn)}
	if _, err := answers.next(); err != nil { // 0001 BIRD 2.0.12 ready.
		return nil, err
	}
	if _, err := conn.Write([]byte(command + "\n")); err != nil {
		return nil, fmt.Errorf("asking BIRD for %s: %w", command, err)
	}
	lines, err := answers.next()
	if err != nil {
		return nil, fmt.Errorf("asking BIRD for %s: %w", command, err)
	}
	return lines, nil
}

// answers reads answers from a connection to BIRD.
type answers struct {
	lines *bufio.Scanner
	read  int
}

// next returns the lines of the next answer.
func (a *answers) next() ([]string, error) {
	var out []string
	for a.lines.Scan() {
		line := a.lines.Text()
		if a.read += len(line); a.read > maxAnswer {
			return nil, fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
		}
		if text, more := strings.CutPrefix(line, " "); more {
			out = append(out, text)
			continue
		}
		if strings.HasPrefix(line, "+") { // an event that somebody asked for
			continue
		}
		if len(line) < 5 {
			return nil, fmt.Errorf("%q is no line of an answer", line)
		}
		code, last, text := line[:4], line[4] == ' ', line[5:]
		if code >= "8000" {
			return nil, fmt.Errorf("%s", text)
		}
		if text != "" {
			out = append(out, text)
		}
		if last {
			return out, nil
		}
	}
	if err := a.lines.Err(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("BIRD has closed the connection")
}
