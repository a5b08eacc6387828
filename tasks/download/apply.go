package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"deployer/engine"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// attempts bounds how often a download is begun or gone on with in one step, and
// firstWait is the wait after the first failure, twice as long after each.
const attempts = 5

var firstWait = time.Second

// Apply downloads beside the destination, going on with what an earlier attempt
// has left, and puts the file in place when its digest is right.
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
	defer t.Close() // what has come so far stays for the next attempt
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

// fetch downloads until the digest is right, or it will never be.
func (h *Host) fetch(ctx context.Context, sys engine.System, t *hostfile.Temp) error {
	p := &partial{file: t, sum: sha256.New()}
	n, err := io.Copy(p.sum, t)
	if err != nil {
		return err
	}
	p.size = n
	wait := firstWait
	for try := 1; ; try++ {
		err := h.attempt(ctx, sys, p)
		var never *final
		if err == nil || errors.As(err, &never) || try == attempts || ctx.Err() != nil {
			return err
		}
		sys.Progress(fmt.Sprintf("%v; trying again in %s", err, wait))
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait *= 2
	}
}

// attempt continues the download once. Content that was continued and turns out
// wrong is fetched whole: the part that was there may be of another file.
func (h *Host) attempt(ctx context.Context, sys engine.System, p *partial) error {
	if p.size > 0 && p.digest() == h.SHA256 {
		return nil // complete, but its run ended before it was put in place
	}
	continued, err := h.receive(ctx, sys, p)
	if err != nil {
		return err
	}
	if p.digest() == h.SHA256 {
		return nil
	}
	have, size := p.digest(), p.size
	if err := p.reset(); err != nil {
		return err
	}
	if continued {
		return errors.New("what an earlier attempt had left was of another file")
	}
	u, err := address(h.URL)
	if err != nil {
		return err
	}
	return &final{fmt.Errorf("%s has the SHA-256 %s (%d bytes), not %s: compare with what its publisher says", u.Redacted(), have, size, h.SHA256)}
}

// partial is content on its way.
type partial struct {
	file *hostfile.Temp
	sum  hash.Hash
	size int64 // bytes so far
}

func (p *partial) Write(content []byte) (int, error) {
	n, err := p.file.Write(content)
	_, _ = p.sum.Write(content[:n]) // a hash takes everything
	p.size += int64(n)
	if err != nil {
		err = &final{err} // the disk, not the network
	}
	return n, err
}

func (p *partial) digest() string { return hex.EncodeToString(p.sum.Sum(nil)) }

// reset drops what has come so far.
func (p *partial) reset() error {
	p.sum.Reset()
	p.size = 0
	if err := p.file.Truncate(0); err != nil {
		return err
	}
	_, err := p.file.Seek(0, io.SeekStart)
	return err
}

func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
