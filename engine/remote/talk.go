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

// talk is a running probe, which becomes the agent.
type talk struct {
	transport.Process
	mu sync.Mutex // of probed, until answers has returned
	probed
	terminal bool
	marker   string
	out      *bufio.Reader
	heard    *ear
	ahead    chan struct{} // a token for each piece that the host has not taken yet

	becoming atomic.Bool // root is being become: a password may be asked for

	// Of answerPrompt:
	answered  bool   // the password was given
	questions int    // how many, or up to where, were dealt with
	before    string // what it saw the last time
}

func newTalk(p transport.Process, marker string, terminal bool) *talk {
	t := &talk{Process: p, marker: marker, terminal: terminal, heard: &ear{from: p.Stdout()}, ahead: make(chan struct{}, piecesAhead)}
	t.out = bufio.NewReaderSize(t.heard, maxLine)
	return t
}

// ear passes output on and remembers the end of it, until it is told to stop.
type ear struct {
	from io.Reader
	tail transport.Tail
	deaf atomic.Bool
}

func (e *ear) Read(p []byte) (int, error) {
	n, err := e.from.Read(p)
	if n > 0 && !e.deaf.Load() {
		_, _ = e.tail.Write(p[:n])
	}
	return n, err
}

// answer is a line for us among those for people.
var answer = regexp.MustCompile(`(?m)^[a-z]+=.*$`)

// since is what was heard after the last line that begins so.
func (t *talk) since(line string) string {
	text := t.heard.tail.String()
	i := strings.LastIndex(text, "\n"+line)
	if i < 0 {
		return ""
	}
	_, rest, _ := strings.Cut(text[i+1:], "\n")
	return rest
}

// words is what the host said for people: on the standard error, which on a
// terminal is one with the output. When it has not even begun to answer, its
// output is meant for people, too.
func (t *talk) words() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.Stderr()
	switch {
	case t.terminal && t.inside:
		text = answer.ReplaceAllString(t.since(t.marker), "")
	case t.terminal && t.uid != "":
		text = t.since(becomeLine)
	case t.uid == "":
		text = t.heard.tail.String() + "\n" + text
	}
	return strings.ReplaceAll(text, t.marker+sudoPrompt, "")
}

// answers reads until the host waits for something: the agent is there or
// missing, there is a problem, or the probe has ended.
func (t *talk) answers() error {
	for noise := 0; ; {
		line, err := readLine(t.out)
		if err != nil && !(errors.Is(err, io.EOF) && line != "") {
			return err
		}
		if t.hear(line) {
			return nil
		}
		if noise += len(line) + 1; noise > maxNoise {
			return errNoise
		}
	}
}

// hear takes in one line, and is true when the host waits.
func (t *talk) hear(line string) bool {
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
		case <-t.ahead:
		default: // it takes what was not sent: let it
		}
	}
	if key == "become" && !t.inside {
		t.becoming.Store(true)
	}
	return t.present || t.missing || t.problem != ""
}
