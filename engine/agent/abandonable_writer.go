package agent

import (
	"errors"
	"io"
)

// abandonableWriter writes to w until gone is closed, and then abandons the write in
// flight. On a hung network that write would block a step, and with it the host's
// lock, until the kernel gives the connection up.
type abandonableWriter struct {
	gone <-chan struct{}
	jobs chan []byte
	done chan error
}

// newAbandonableWriter returns a writer for one goroutine at a time. newAbandonableWriter starts a
// goroutine that ends when gone is closed, or with the process if w never returns.
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

var errControllerGone = errors.New("the connection to the controller is gone")

// Write implements io.Writer. After an error, w may still read from p: protocol.Conn
// does not reuse its buffer then.
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
