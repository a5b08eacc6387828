package agent

import (
	"errors"
	"io"
)

// abandonableWriter writes to w until gone is closed. A write that is under way
// then is given up: on a hung network it would keep a step, and with it the
// host's lock, for as long as the kernel believes in the connection.
type abandonableWriter struct {
	gone <-chan struct{}
	jobs chan []byte
	done chan error
}

// newAbandonableWriter returns a writer for one goroutine at a time. The goroutine
// that writes for it ends after gone, or with the process if w never returns.
func newAbandonableWriter(w io.Writer, gone <-chan struct{}) *abandonableWriter {
	d := &abandonableWriter{gone: gone, jobs: make(chan []byte), done: make(chan error, 1)}
	go func() {
		for {
			select {
			case p := <-d.jobs:
				_, err := w.Write(p)
				d.done <- err
			case <-gone:
				return
			}
		}
	}()
	return d
}

var errControllerGone = errors.New("the controller is gone")

// Write implements io.Writer. After an error p may still be read from:
// wire.Conn never touches its buffer again then.
func (d *abandonableWriter) Write(p []byte) (int, error) {
	select {
	case d.jobs <- p:
	case <-d.gone:
		return 0, errControllerGone
	}
	select {
	case err := <-d.done:
		if err != nil {
			return 0, err
		}
		return len(p), nil
	case <-d.gone:
		return 0, errControllerGone
	}
}
