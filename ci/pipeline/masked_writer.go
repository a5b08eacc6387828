package pipeline

import (
	"bytes"
	"io"
	"sync"

	"deployer/engine/redact"
)

// maxHeld is the number of bytes of a line without an end that are held back.
const maxHeld = 64 << 10

// maskedWriter writes lines with their secrets masked. It holds back the beginning of a
// line until its end has come, so that no secret passes in two parts. It is safe for
// concurrent use.
type maskedWriter struct {
	mu      sync.Mutex
	to      io.Writer
	secrets *redact.Set
	held    []byte
}

// Write implements io.Writer.
func (w *maskedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held = append(w.held, p...)
	end := bytes.LastIndexByte(w.held, '\n') + 1
	if end == 0 && len(w.held) < maxHeld {
		return len(p), nil
	}
	if end == 0 {
		end = len(w.held)
	}
	text := w.secrets.Text(string(w.held[:end]))
	w.held = append(w.held[:0], w.held[end:]...)
	if _, err := io.WriteString(w.to, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what is held back.
func (w *maskedWriter) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 {
		_, _ = io.WriteString(w.to, w.secrets.Text(string(w.held)))
		w.held = nil
	}
}
