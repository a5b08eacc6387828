package images

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// Status is what is known of one artifact on the controller.
type Status struct {
	Ref
	Kind Kind `json:"kind"`
	// Image is the full image name; empty for other kinds.
	Image string `json:"image,omitempty"`
	// Pinned and Stored tell whether the lock file has it and the store holds
	// that content. Source, SHA256 and Size (bytes) are the pin's.
	Pinned bool   `json:"pinned"`
	Stored bool   `json:"stored"`
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Source string `json:"source,omitempty"`
}

// List tells what is known of each artifact. It asks no network.
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

// Verify hashes the stored content of each artifact again, both forms, and
// reports all that is missing or damaged together. Damaged content is removed
// from the store.
func (r *Resolver) Verify(ctx context.Context, refs []Ref, progress func(Progress)) error {
	return r.each(ctx, refs, progress, "verifying", r.verify)
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
	if _, err := r.Resolve(ctx, ref); err != nil {
		return err
	}
	if err := r.Store.recheckCompressed(ctx, pin.SHA256); err != nil {
		return err
	}
	report(Ready, pin.Size, pin.Size)
	return nil
}

// recheckCompressed unpacks the zstd form and removes it when it does not give
// the content.
func (s *Store) recheckCompressed(ctx context.Context, digest string) error {
	path := s.path(digest) + ".zst"
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder, err := zstd.NewReader(contextReader{ctx, file})
	if err != nil {
		return err
	}
	defer decoder.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, decoder)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if found := hex.EncodeToString(sum.Sum(nil)); err != nil || found != digest {
		if removeErr := os.Remove(path); removeErr != nil {
			return removeErr
		}
		return fmt.Errorf("%s does not unpack to its content: %w; it was removed, fetch it again", path, errors.Join(ErrMismatch, err))
	}
	return nil
}
