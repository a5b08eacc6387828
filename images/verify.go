package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

// Status is the state of one artifact on the controller.
type Status struct {
	Ref
	Kind Kind `json:"kind"`
	// Image is the full image name; empty for other kinds.
	Image string `json:"image,omitempty"`
	// Pinned and Stored report whether the lock file pins the artifact, and whether the
	// store has that content. Source, SHA256 and Size (bytes) are those of the pin.
	Pinned bool   `json:"pinned"`
	Stored bool   `json:"stored"`
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Source string `json:"source,omitempty"`
}

// List returns the status of each artifact, without the network.
func (r *Resolver) List(refs []Ref) ([]Status, error) {
	all := make([]Status, len(refs))
	for i, ref := range refs {
		a, err := r.Catalogue.Artifact(ref.Name)
		if err != nil {
			return nil, err
		}
		pin, pinned := r.Lock.Pin(ref)
		all[i] = Status{Ref: ref, Kind: a.Kind, Image: a.ImageName(ref), Pinned: pinned, SHA256: pin.SHA256, Size: pin.Size, Source: pin.Source}
		if pinned {
			_, err := r.Store.Blob(pin.SHA256)
			all[i].Stored = err == nil
		}
	}
	return all, nil
}

// Verify hashes the stored content of each artifact again, both forms, and returns
// everything missing or damaged in one error. Verify changes nothing.
func (r *Resolver) Verify(ctx context.Context, refs []Ref, progress func(Progress)) error {
	return r.each(ctx, refs, progress, "verifying", r.verify)
}

// Repair is Verify that removes damaged content from the store and downloads it and
// missing content again.
func (r *Resolver) Repair(ctx context.Context, refs []Ref, progress func(Progress)) error {
	return r.each(ctx, refs, progress, "repairing", func(ctx context.Context, ref Ref, report reporter) error {
		err := r.verify(ctx, ref, report)
		var damaged *damagedError
		switch {
		case errors.As(err, &damaged):
			if err := r.Store.remove(damaged.names); err != nil {
				return fmt.Errorf("removing damaged content: %w", err)
			}
		case !errors.Is(err, ErrMissing):
			return err
		}
		if err := r.fetch(ctx, ref, report); err != nil {
			return err
		}
		return r.verify(ctx, ref, report)
	})
}

func (r *Resolver) verify(ctx context.Context, ref Ref, report reporter) error {
	pin, ok := r.Lock.Pin(ref)
	if !ok {
		return fmt.Errorf("%w %s", ErrUnpinned, r.Lock.Path())
	}
	report(Checking, 0, pin.Size)
	if err := r.Store.recheck(pin.SHA256); err != nil {
		return err
	}
	blob, err := r.Resolve(ctx, ref)
	if err != nil {
		return err
	}
	if err := r.Store.recheckCompressed(ctx, pin.SHA256); err != nil {
		return err
	}
	if blob.Expanded != "" && blob.Expanded != blob.Digest {
		if err := errors.Join(r.Store.recheck(blob.Expanded), r.Store.recheckCompressed(ctx, blob.Expanded)); err != nil {
			return err
		}
	}
	report(Ready, pin.Size, pin.Size)
	return nil
}

// recheckCompressed unpacks the zstd form. The error is ErrMismatch when it does
// not give the content.
func (s *Store) recheckCompressed(ctx context.Context, digest string) error {
	name := contentName(digest) + compressedSuffix
	file, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder, err := zstd.NewReader(contextReader{ctx, file})
	if err != nil {
		return err
	}
	defer decoder.Close()
	found, _, err := hashOf(decoder)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil || found != digest {
		return &damagedError{[]string{name}, fmt.Errorf("%s does not unpack to its content: %w; %s", s.path(name), errors.Join(ErrMismatch, err), repairAdvice)}
	}
	return nil
}

// repairAdvice ends the messages about damaged content.
const repairAdvice = "replace it with: deployer artifacts verify --repair"

// damagedError is the error for content with a wrong digest. damagedError wraps ErrMismatch.
type damagedError struct {
	names []string // of its files in the store
	err   error
}

// Error names the file.
func (e *damagedError) Error() string { return e.err.Error() }

// Unwrap returns ErrMismatch.
func (e *damagedError) Unwrap() error { return e.err }

// remove removes existing files of the store.
func (s *Store) remove(names []string) error {
	var all error
	for _, name := range names {
		if err := s.root.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}
