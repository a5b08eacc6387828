package pipeline

import (
	"bytes"
	"io"
	"sync"

	"deployer/engine/redact"
)

// maxLine is the maximum number of bytes of a line; the rest of a longer line is left out.
const maxLine = 1 << 20

// cutMark stands for the rest of a line that is too long. Before its dots a redact.Set finds
// the beginning of a secret that was cut.
const cutMark = "[... the rest of the line is left out]\n"

// maskedWriter writes whole lines with their secrets masked. maskedWriter holds back the beginning of a
// line until its end has come, so that no secret passes in two parts. Each stream has a
// maskedWriter of its own, because parts of lines of two streams would be joined. maskedWriter is safe
// for concurrent use.
type maskedWriter struct {
	to      io.Writer
	secrets *redact.Set

	mu   sync.Mutex
	held []byte // the beginning of a line
	cut  bool   // the line was too long, and its rest is left out
}

// Write implements io.Writer.
func (w *maskedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := p
	if w.cut {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		w.cut, rest = false, rest[end+1:]
	}
	w.held = append(w.held, rest...)
	text := w.held[:bytes.LastIndexByte(w.held, '\n')+1]
	line := w.held[len(text):]
	if len(line) > maxLine {
		text = append(w.held[:len(text)+maxLine:len(text)+maxLine], cutMark...)
		line, w.cut = nil, true
	}
	err := w.write(text)
	w.held = append(w.held[:0], line...)
	return len(p), err
}

func (w *maskedWriter) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	_, err := io.WriteString(w.to, w.secrets.Text(string(text)))
	return err
}

// Flush ends the line that is held back and writes it.
func (w *maskedWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 {
		_ = w.write(append(w.held, '\n'))
	}
	w.held, w.cut = nil, false
}
