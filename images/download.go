package images

import (
	"context"
	"deployer/resumable"
	"errors"
	"fmt"
	"strings"
	"time"
)

// content returns the content in both forms: from the store, or from the source
// through the store's partial files.
func (r *Resolver) content(ctx context.Context, a Artifact, ref Ref, want Offer, report reporter) (Blob, error) {
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
	err = resumable.Download{
		Name: want.Address,
		Open: func(ctx context.Context, offset int64) (resumable.Content, error) {
			return r.Source.Open(ctx, a, ref, want, offset)
		},
		SHA256: want.SHA256, Permanent: permanent,
		Progress: func(received, total int64) { report(Downloading, received, total) }, Interval: reportEvery,
	}.Into(ctx, p.Partial)
	var mismatch *resumable.MismatchError
	if errors.As(err, &mismatch) {
		err = fmt.Errorf("%s: %w: %w", want.Address, mismatch, ErrMismatch)
	}
	if errors.Is(err, ErrMismatch) {
		return "", errors.Join(err, p.discard())
	}
	if err != nil {
		return "", err
	}
	return p.Digest(), p.commit()
}

// reportEvery is the interval of progress reports: a gigabit brings 4000 writes a
// second.
const reportEvery = 100 * time.Millisecond
