package wire

import (
	"context"
	"sync"
)

// Window is how many bytes of a blob may be on their way before the receiver
// has granted more. It is twice the greatest window of an SSH channel in
// golang.org/x/crypto/ssh (2 MiB), so that it is never the narrower one.
const Window = 4 << 20

// Credit is what a sender may still send of one blob.
type Credit struct {
	mu   sync.Mutex
	left int
	more chan struct{} // closed when left grows
}

// NewCredit returns a credit of Window bytes.
func NewCredit() *Credit { return &Credit{left: Window, more: make(chan struct{})} }

// Add adds what the receiver granted. A receiver that grants more than a window
// does not speak this protocol.
func (c *Credit) Add(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n < 0 || n > Window || c.left+n > Window {
		return &ProtocolError{Reason: "blob-grant beyond the window"}
	}
	c.left += n
	close(c.more)
	c.more = make(chan struct{})
	return nil
}

// Take waits until something may be sent and takes at most want bytes of it. It
// returns the cause of ctx when that ends first.
func (c *Credit) Take(ctx context.Context, want int) (int, error) {
	for {
		c.mu.Lock()
		n, wait := min(want, c.left), c.more
		c.left -= n
		c.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}
