package remote

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"deployer/engine/transport"
)

// probe is a running probe, which becomes the agent.
type probe struct {
	transport.Process
	mu sync.Mutex // of probed, until answers has returned
	probeAnswers
	terminal   bool
	marker     string
	out        *bufio.Reader
	stdoutTail *tailReader
	inFlight   chan struct{} // a token for each piece that the host has not taken yet

	becoming atomic.Bool // root is being become: a password may be asked for

	// Of answerPrompt:
	passwordSent bool   // the password was given
	promptsSeen  int    // how many, or up to where, were dealt with
	lastText     string // what it saw the last time
}

func newProbe(p transport.Process, marker string, terminal bool) *probe {
	t := &probe{Process: p, marker: marker, terminal: terminal, stdoutTail: &tailReader{from: p.Stdout()}, inFlight: make(chan struct{}, chunksInFlight)}
	t.out = bufio.NewReaderSize(t.stdoutTail, maxLine)
	return t
}

// tailReader passes output on and remembers the end of it, until it is told to stop.
type tailReader struct {
	from  io.Reader
	tail  transport.Tail
	muted atomic.Bool
}

func (e *tailReader) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	if n > 0 && !e.muted.Load() {
		_, _ = e.tail.Write(p[:n])
	}
	return n, err
}

// machineLine is a line for us among those for people.
var machineLine = regexp.MustCompile(`(?m)^[a-z]+=.*$`)

// outputAfter is what was heard after the last line that begins so.
func (t *probe) outputAfter(line string) string {
	text := t.stdoutTail.tail.String()
	i := strings.LastIndex(text, "\n"+line)
	if i < 0 {
		return ""
	}
	_, rest, _ := strings.Cut(text[i+1:], "\n")
	return rest
}

// humanOutput is what the host said for people: on the standard error, which on a
// terminal is one with the output. When it has not even begun to answer, its
// output is meant for people, too.
func (t *probe) humanOutput() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.Stderr()
	switch {
	case t.terminal && t.inside:
		text = machineLine.ReplaceAllString(t.outputAfter(t.marker), "")
	case t.terminal && t.uid != "":
		text = t.outputAfter(becomeLine)
	case t.uid == "":
		text = t.stdoutTail.tail.String() + "\n" + text
	}
	return strings.ReplaceAll(text, t.marker+sudoPrompt, "")
}

// readAnswers reads until the host waits for something: the agent is there or
// missing, there is a problem, or the probe has ended.
func (t *probe) readAnswers() error {
	for noise := 0; ; {
		line, err := readLine(t.out)
		if err != nil && !(errors.Is(err, io.EOF) && line != "") {
			return err
		}
		if t.parseLine(line) {
			return nil
		}
		if noise += len(line) + 1; noise > maxNoise {
			return errNoise
		}
	}
}

// parseLine takes in one line, and is true when the host waits.
func (t *probe) parseLine(line string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if line == t.marker {
		t.inside = t.begun
		t.begun = true
		if t.inside {
			t.becoming.Store(false)
		}
		return false
	}
	if !t.begun || t.becoming.Load() {
		return false // of the start-up files of a shell, or of what asks for a password
	}
	key, value, _ := strings.Cut(line, "=")
	t.set(key, value)
	if key == "taken" {
		select {
		case <-t.inFlight:
		default: // it takes what was not sent: let it
		}
	}
	if key == "become" && !t.inside {
		t.becoming.Store(true)
	}
	return t.present || t.missing || t.problem != ""
}
