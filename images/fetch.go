package images

import (
	"context"
	"deployer/resumable"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/go-multierror"
	"golang.org/x/sync/errgroup"
)

// Phase is the phase of the work on an artifact.
type Phase string

// The phases, in order. Ready is reported only on success.
const (
	Downloading Phase = "downloading"
	Compressing Phase = "compressing"
	Checking    Phase = "checking"
	Ready       Phase = "ready"
)

// Progress is one report of work on an artifact. Done and Total are bytes of
// the phase; Total is 0 while unknown.
type Progress struct {
	Ref         Ref
	Phase       Phase
	Done, Total int64
}

// Fetch brings the artifacts into the store and pins new ones. A pinned artifact
// must match its pin, a new one the publisher's checksum. All failures are returned
// together; successful downloads are kept and pinned. Progress is called from one
// goroutine at a time and may be nil.
func (r *Resolver) Fetch(ctx context.Context, refs []Ref, progress func(Progress)) error {
	return r.each(ctx, refs, progress, "fetching", r.fetch)
}

// Accept pins the content that the source offers now. An artifact with another pin
// is an error, all listed, unless update is set. Accept downloads everything.
func (r *Resolver) Accept(ctx context.Context, refs []Ref, update bool, progress func(Progress)) error {
	return r.each(ctx, refs, progress, "locking", func(ctx context.Context, ref Ref, report reporter) error {
		return r.accept(ctx, ref, update, report)
	})
}

type reporter func(phase Phase, done, total int64)

// each calls do for every ref, several in parallel, and then writes the lock file.
func (r *Resolver) each(ctx context.Context, refs []Ref, progress func(Progress), verb string,
	do func(context.Context, Ref, reporter) error) error {
	var mu sync.Mutex
	var failures *multierror.Error
	var group errgroup.Group
	group.SetLimit(max(r.Parallel, 0))
	if r.Parallel <= 0 {
		group.SetLimit(4)
	}
	for _, ref := range refs {
		report := func(phase Phase, done, total int64) {
			if progress == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			progress(Progress{ref, phase, done, total})
		}
		group.Go(func() error {
			if err := do(ctx, ref, report); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures = multierror.Append(failures, fmt.Errorf("%s %s: %w", verb, ref, err))
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		failures = multierror.Append(failures, err)
	}
	if err := r.Lock.Save(); err != nil {
		failures = multierror.Append(failures, err)
	}
	return failures.ErrorOrNil()
}

// fetch brings one artifact into the store, pinned or not.
func (r *Resolver) fetch(ctx context.Context, ref Ref, report reporter) error {
	a, err := r.Catalogue.Artifact(ref.Name)
	if err != nil {
		return err
	}
	if pin, ok := r.Lock.Pin(ref); ok {
		want := Offer{SHA256: pin.SHA256, Manifest: pin.Manifest, Address: pin.Source}
		_, err := r.content(ctx, a, ref, want, report)
		if errors.Is(err, ErrMismatch) {
			return fmt.Errorf("%w; lock file %s pins sha256 %s from %s (to accept new content on purpose: deployer artifacts lock --update)",
				err, r.Lock.Path(), pin.SHA256, pin.Source)
		}
		return err
	}
	offer, err := r.offer(ctx, a, ref)
	if err != nil {
		return err
	}
	return r.pin(ctx, a, ref, offer, report)
}

func (r *Resolver) accept(ctx context.Context, ref Ref, update bool, report reporter) error {
	a, err := r.Catalogue.Artifact(ref.Name)
	if err != nil {
		return err
	}
	offer, err := r.offer(ctx, a, ref)
	if err != nil {
		return err
	}
	pin, pinned := r.Lock.Pin(ref)
	same := pin.SHA256 == offer.SHA256 || (offer.SHA256 == "" && pin.Manifest == offer.Manifest)
	switch {
	case pinned && same:
		return r.fetch(ctx, ref, report)
	case pinned && !update:
		return fmt.Errorf("%s offers sha256 %s%s, the lock file pins %s: to accept it use --update: %w",
			offer.Address, offer.SHA256, offer.Manifest, pin.SHA256, ErrMismatch)
	}
	return r.pin(ctx, a, ref, offer, report)
}

// pin downloads offered content and pins it.
func (r *Resolver) pin(ctx context.Context, a Artifact, ref Ref, offer Offer, report reporter) error {
	blob, err := r.content(ctx, a, ref, offer, report)
	if err != nil {
		return err
	}
	r.Lock.Put(Pin{Ref: ref, SHA256: blob.Digest, Size: blob.Size, Manifest: offer.Manifest, Source: offer.Address})
	return nil
}

// offer queries the source for an artifact, and requires a digest of its content.
func (r *Resolver) offer(ctx context.Context, a Artifact, ref Ref) (Offer, error) {
	var offer Offer
	err := resumable.Retry(ctx, 0, permanent, nil, func() error {
		var err error
		offer, err = r.Source.Offer(ctx, a, ref)
		return err
	})
	if err != nil {
		return Offer{}, err
	}
	if offer.SHA256 == "" && offer.Manifest == "" {
		return Offer{}, fmt.Errorf("%s states no digest for %s", r.Source, ref)
	}
	return offer, nil
}
