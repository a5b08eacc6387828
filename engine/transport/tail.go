package transport

import (
	"errors"
	"io"
	"sync"
)

// Tail keeps the last bytes written to it, for the standard error of commands. It is
// safe for concurrent use.
type Tail struct {
	// Limit is the maximum number of bytes; 0: StderrLimit.
	Limit int

	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer; it never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := t.Limit
	if limit == 0 {
		limit = StderrLimit
	}
	t.buf = append(t.buf, p...)
	// Cutting only at twice the size keeps many small writes cheap.
	if len(t.buf) > 2*limit {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-limit:]...)
	}
	return len(p), nil
}

// ReadFrom implements io.ReaderFrom with less memory than io.Copy: most commands
// print nothing there, and a controller has thousands of them.
func (t *Tail) ReadFrom(r io.Reader) (int64, error) {
	var buf [512]byte
	for total := int64(0); ; {
		n, err := r.Read(buf[:])
		_, _ = t.Write(buf[:n])
		if total += int64(n); errors.Is(err, io.EOF) {
			return total, nil
		} else if err != nil {
			return total, err
		}
	}
}

// String returns the kept bytes.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	limit := t.Limit
	if limit == 0 {
		limit = StderrLimit
	}
	return string(t.buf[max(0, len(t.buf)-limit):])
}
