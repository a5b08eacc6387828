package resumable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// attempts is the maximum number of attempts of a download.
const attempts = 5

// Download describes how to get a file.
type Download struct {
	// Name names the content in errors, such as its URL.
	Name string
	// Open opens the content at an offset in bytes, or at 0 when its source cannot do
	// that; Content.Offset is the actual one. ctx ends the stream too.
	Open func(ctx context.Context, offset int64) (Content, error)
	// SHA256 is the expected digest in hex; empty when it is unknown.
	SHA256 string
	// Idle is the maximum time without a received byte; default a minute.
	Idle time.Duration
	// FirstWait is the wait after the first failed attempt, twice as long after each
	// further one; default a second.
	FirstWait time.Duration
	// Permanent reports whether another attempt would repeat an error. nil: Permanent
	// of this package.
	Permanent func(error) bool
	// Progress, when not nil, is called at the first bytes of each attempt and then at
	// most every Interval while content arrives; total is 0 when unknown.
	Progress func(received, total int64)
	Interval time.Duration
	// Retrying, when not nil, is called before each wait.
	Retrying func(err error, wait time.Duration)
}

// MismatchError is the error for content with another digest than the expected one.
type MismatchError struct {
	Got, Want string // SHA-256 in hex
	Size      int64  // of the content in bytes
}

func (e *MismatchError) Error() string {
	return fmt.Sprintf("content has sha256 %s (%d bytes), %s is expected", e.Got, e.Size, e.Want)
}

// errIdle is the cause when a download receives nothing for too long.
var errIdle = errors.New("the download stands still")

// Permanent reports whether another attempt would repeat an error: content with the
// wrong digest, an error of the file, or an HTTP status that does not pass.
func Permanent(err error) bool {
	var mismatch *MismatchError
	var write *WriteError
	var status *StatusError
	switch {
	case errors.As(err, &mismatch), errors.As(err, &write):
		return true
	case errors.As(err, &status):
		return !TemporaryStatus(status.Code)
	}
	return false
}

// TemporaryStatus reports whether an HTTP status may pass with time.
func TemporaryStatus(code int) bool {
	return code >= 500 || code == http.StatusRequestTimeout || code == http.StatusTooManyRequests
}

// Into downloads until p has the whole content with the expected digest. Into returns a
// *MismatchError, with the wrong content in p, when the source has other content; the
// error of the last attempt when none succeeds; and the cause of ctx when that ends.
func (d Download) Into(ctx context.Context, p *Partial) error {
	permanent := d.Permanent
	if permanent == nil {
		permanent = Permanent
	}
	return Retry(ctx, d.FirstWait, permanent, d.Retrying, func() error { return d.attempt(ctx, p) })
}

// Retry calls do until it succeeds, fails permanently, ctx ends, or attempts are used
// up. first is the wait after the first failure, 0 for a second; retrying may be nil.
func Retry(ctx context.Context, first time.Duration, permanent func(error) bool, retrying func(error, time.Duration), do func() error) error {
	wait := first
	if wait <= 0 {
		wait = time.Second
	}
	for attempt := 1; ; attempt++ {
		err := do()
		if err == nil || ctx.Err() != nil || permanent(err) {
			return err
		}
		if attempt == attempts {
			return fmt.Errorf("%w (tried %d times)", err, attempts)
		}
		if retrying != nil {
			retrying(err, wait)
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(wait):
		}
		wait *= 2
	}
}

// attempt continues the download once and compares the digest. Wrong content that
// continues an earlier attempt is dropped and downloaded whole, once: the earlier part
// may be of another file.
func (d Download) attempt(ctx context.Context, p *Partial) error {
	if p.size > 0 && p.Digest() == d.SHA256 {
		return nil // complete, but its process ended before it used the content
	}
	continued, err := d.receive(ctx, p)
	if err != nil {
		return err
	}
	got := p.Digest()
	if d.SHA256 == "" || got == d.SHA256 {
		return nil
	}
	if continued {
		if err := p.Reset(); err != nil {
			return err
		}
		return d.attempt(ctx, p)
	}
	return &MismatchError{Got: got, Want: d.SHA256, Size: p.size}
}

// receive appends content to p, and reports whether p kept content of an earlier
// attempt.
func (d Download) receive(ctx context.Context, p *Partial) (continued bool, err error) {
	idle := d.Idle
	if idle <= 0 {
		idle = time.Minute
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(idle, func() { cancel(fmt.Errorf("%w for %s", errIdle, idle)) })
	defer timer.Stop()
	content, err := d.Open(ctx, p.size)
	if err != nil {
		return false, causeOf(ctx, err)
	}
	defer content.Close()
	if content.Offset != p.size {
		if err := p.Reset(); err != nil {
			return false, err
		}
	}
	continued = p.size > 0
	m := &meter{to: p, download: d, total: content.Total, touch: func() { timer.Reset(idle) }}
	if _, err := io.Copy(m, content); err != nil {
		return continued, fmt.Errorf("downloading %s: after %d bytes: %w", d.Name, p.size, causeOf(ctx, err))
	}
	if content.Total > 0 && p.size < content.Total {
		return continued, fmt.Errorf("downloading %s: after %d of %d bytes: %w", d.Name, p.size, content.Total, io.ErrUnexpectedEOF)
	}
	return continued, nil
}

// causeOf returns the cause of the context instead of "context canceled".
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// meter passes content on and reports the progress.
type meter struct {
	to       *Partial
	download Download
	total    int64
	touch    func()
	last     time.Time
}

func (m *meter) Write(content []byte) (int, error) {
	n, err := m.to.Write(content)
	m.touch()
	if now := time.Now(); m.download.Progress != nil && now.Sub(m.last) >= m.download.Interval {
		m.last = now
		m.download.Progress(m.to.size, m.total)
	}
	return n, err
}
