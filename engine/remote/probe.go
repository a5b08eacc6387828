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
	mu sync.Mutex // guards probeAnswers until readAnswers has returned
	probeAnswers
	terminal   bool
	marker     string
	out        *bufio.Reader
	stdoutTail *tailReader
	inFlight   chan struct{} // a token for each chunk that the host has not acknowledged

	becoming atomic.Bool // sudo, doas or su runs: a password prompt may follow

	// Used by answerPrompt only:
	passwordSent bool   // the password was sent
	promptsSeen  int    // number of known prompts seen, or offset of the text behind the last prompt
	lastText     string // output at the last check
}

func newProbe(p transport.Process, marker string, terminal bool) *probe {
	t := &probe{Process: p, marker: marker, terminal: terminal, stdoutTail: &tailReader{from: p.Stdout()}, inFlight: make(chan struct{}, chunksInFlight)}
	t.out = bufio.NewReaderSize(t.stdoutTail, maxLine)
	return t
}

// tailReader passes output on and keeps the end of it until muted is set.
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

// machineLine matches an answer of the probe among output for people.
var machineLine = regexp.MustCompile(`(?m)^[a-z]+=.*$`)

// outputAfter returns the output after the last line that begins with `line`.
func (t *probe) outputAfter(line string) string {
	text := t.stdoutTail.tail.String()
	i := strings.LastIndex(text, "\n"+line)
	if i < 0 {
		return ""
	}
	_, rest, _ := strings.Cut(text[i+1:], "\n")
	return rest
}

// humanOutput returns the output for people: standard error, or on a terminal the
// output without the probe's answers. Before the first answer, all output counts.
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

// readAnswers reads answers until the host waits for the controller: the agent is
// present or missing, there is a problem, or the probe has ended.
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

// parseLine handles one line, and reports whether the host waits for the controller.
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
		return false // output of a shell's start-up files, or of sudo, doas or su
	}
	key, value, _ := strings.Cut(line, "=")
	t.set(key, value)
	if key == "taken" {
		select {
		case <-t.inFlight:
		default: // an acknowledgement of nothing is harmless
		}
	}
	if key == "become" && !t.inside {
		t.becoming.Store(true)
	}
	return t.present || t.missing || t.problem != ""
}
