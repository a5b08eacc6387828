package download

import (
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/engine"
	"deployer/resumable"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// Apply downloads beside the destination, continuing an earlier attempt, and renames the
// file when its digest is right.
func (h *Host) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	f, have := h.wanted(sys)
	if have {
		out, err := f.Apply(ctx, sys, change)
		return out, errors.Join(err, h.remember(sys))
	}
	path, err := hostfile.Resolve(sys, h.Dest, h.Follow)
	if err != nil {
		return nil, err
	}
	t, err := hostfile.OpenPartial(sys, path, h.SHA256[:12])
	if err != nil {
		return nil, err
	}
	defer t.Close() // the received part stays for the next attempt
	if err := h.fetch(ctx, sys, t); err != nil {
		return nil, err
	}
	defer t.Discard()
	if err := sys.Backup(path); err != nil {
		return nil, err
	}
	out, err := f.Place(ctx, sys, path, t)
	if err != nil {
		return nil, err
	}
	return out, h.remember(sys)
}

func (h *Host) remember(sys engine.System) error {
	stamp, err := receipt.Take(sys, h.Dest)
	if err != nil {
		return err
	}
	return receipt.Write(sys, h.receiptPath(), record{Stamp: stamp, SHA256: h.SHA256})
}

// fetch downloads until t has the content with the right digest.
func (h *Host) fetch(ctx context.Context, sys engine.System, t *hostfile.Temp) error {
	p, err := resumable.NewPartial(t)
	if err != nil {
		return err
	}
	client, err := h.client()
	if err != nil {
		return err
	}
	u, err := address(h.URL)
	if err != nil {
		return err
	}
	name, started := resumable.PublicAddress(u), time.Now()
	err = resumable.Download{
		Name:   name,
		Open:   func(ctx context.Context, offset int64) (resumable.Content, error) { return h.open(ctx, client, offset) },
		SHA256: h.SHA256,
		Progress: func(received, total int64) {
			if time.Since(started) >= reportEvery {
				sys.Progress(progress(received, total))
			}
		},
		Interval: reportEvery,
		Retrying: func(err error, wait time.Duration) { sys.Progress(fmt.Sprintf("%v; trying again in %s", err, wait)) },
	}.Into(ctx, p)
	var mismatch *resumable.MismatchError
	if errors.As(err, &mismatch) {
		return errors.Join(fmt.Errorf("%s has the SHA-256 %s (%d bytes), not %s: compare with the digest that its publisher states",
			name, mismatch.Got, mismatch.Size, mismatch.Want), p.Reset())
	}
	return err
}
