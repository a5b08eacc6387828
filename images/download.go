package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// errStalled is the cause when a download receives nothing for too long.
var errStalled = errors.New("the download stands still")

// obtain returns the content in both forms: from the store, or from the source
// through the store's partial files.
func (r *Resolver) obtain(ctx context.Context, a Artifact, ref Ref, want Offer, report reporter) (Blob, error) {
	digest := want.SHA256
	if !r.holds(digest) {
		var err error
		if digest, err = r.download(ctx, a, ref, want, report); err != nil {
			return Blob{}, err
		}
	}
	report(Compressing, 0, 0)
	if err := r.Store.Compressed(ctx, digest); err != nil {
		return Blob{}, err
	}
	if a.Kind == KindArchive {
		if _, err := r.Store.Expanded(ctx, digest); err != nil {
			return Blob{}, err
		}
	}
	blob, err := r.Store.Blob(digest)
	if err == nil {
		report(Ready, blob.Size, blob.Size)
	}
	return blob, err
}

// holds reports whether the store has the undamaged content.
func (r *Resolver) holds(digest string) bool {
	if digest == "" {
		return false
	}
	_, err := r.Store.raw(digest)
	return err == nil
}

func (r *Resolver) download(ctx context.Context, a Artifact, ref Ref, want Offer, report reporter) (digest string, err error) {
	key := want.SHA256
	if key == "" {
		key = strings.ReplaceAll(want.Manifest, ":", "-")
	}
	p, err := r.Store.begin(ctx, key)
	if err != nil {
		return "", fmt.Errorf("opening %s: %w", r.Store.path(partialName(key)), err)
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if r.holds(want.SHA256) {
		// Another process has downloaded the content meanwhile.
		return want.SHA256, p.discard()
	}
	err = retry(ctx, r.retryWait(), func() error { return r.attempt(ctx, a, ref, want, p, report) })
	if errors.Is(err, ErrMismatch) {
		return "", errors.Join(err, p.discard())
	}
	if err != nil {
		return "", err
	}
	return p.digest(), p.commit()
}

// attempt continues the download once and verifies the result. Wrong content that
// continued an earlier attempt is dropped and downloaded whole, once: the earlier
// part may be of another file.
func (r *Resolver) attempt(ctx context.Context, a Artifact, ref Ref, want Offer, p *partial, report reporter) error {
	if p.size > 0 && p.digest() == want.SHA256 {
		return nil // complete, but its process ended before naming it
	}
	continued, err := r.receive(ctx, a, ref, want, p, report)
	if err != nil {
		return err
	}
	if want.SHA256 == "" || p.digest() == want.SHA256 {
		return nil
	}
	if continued {
		if err := p.reset(); err != nil {
			return err
		}
		return r.attempt(ctx, a, ref, want, p, report)
	}
	return fmt.Errorf("%s: content has sha256 %s (%d bytes), %s is expected: %w", want.Address, p.digest(), p.size, want.SHA256, ErrMismatch)
}

// receive appends the data of the source to p, and reports whether p kept content of
// an earlier attempt.
func (r *Resolver) receive(ctx context.Context, a Artifact, ref Ref, want Offer, p *partial, report reporter) (continued bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := r.Stall
	if stall <= 0 {
		stall = time.Minute
	}
	guard := time.AfterFunc(stall, func() { cancel(fmt.Errorf("%w for %s", errStalled, stall)) })
	defer guard.Stop()

	content, err := r.Source.Open(ctx, a, ref, want, p.size)
	if err != nil {
		return false, causeOf(ctx, err)
	}
	defer content.Close()
	if content.Offset != p.size {
		if err := p.reset(); err != nil {
			return false, err
		}
	}
	continued = p.size > 0
	meter := &meter{target: p, report: report, total: content.Total, touch: func() { guard.Reset(stall) }}
	if _, err := io.Copy(meter, content); err != nil {
		return continued, fmt.Errorf("downloading %s: %w", want.Address, causeOf(ctx, err))
	}
	if content.Total > 0 && p.size < content.Total {
		return continued, fmt.Errorf("downloading %s: %w after %d of %d bytes", want.Address, io.ErrUnexpectedEOF, p.size, content.Total)
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

// reportEvery is the interval of progress reports: a gigabit brings 4000 writes a
// second.
const reportEvery = 100 * time.Millisecond

// meter passes content on and reports the progress.
type meter struct {
	target *partial
	report reporter
	total  int64
	touch  func()
	last   time.Time
}

func (m *meter) Write(content []byte) (int, error) {
	n, err := m.target.Write(content)
	m.touch()
	if now := time.Now(); now.Sub(m.last) >= reportEvery {
		m.last = now
		m.report(Downloading, m.target.size, m.total)
	}
	return n, err
}
