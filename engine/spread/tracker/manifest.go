package tracker

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"sync"

	"deployer/engine/spread/peer"
)

// manifests computes the digests of chunks, once for each blob.
type manifests struct {
	blobs   Blobs
	minimum int64

	mu    sync.Mutex
	known map[string]*manifestResult // by digest
}

type manifestResult struct {
	ready    chan struct{} // closed when the others are set
	manifest peer.Manifest
	err      error
}

// errSmall says that a blob is too small for peers, or is one that the run has made itself.
var errSmall = errors.New("the controller sends this blob itself")

// get returns the manifest of a blob.
func (m *manifests) get(ctx context.Context, digest string) (peer.Manifest, error) {
	m.mu.Lock()
	r := m.known[digest]
	first := r == nil
	if first {
		r = &manifestResult{ready: make(chan struct{})}
		m.known[digest] = r
	}
	m.mu.Unlock()
	if first {
		r.manifest, r.err = m.compute(digest)
		close(r.ready)
	}
	select {
	case <-r.ready:
		return r.manifest, r.err
	case <-ctx.Done():
		return peer.Manifest{}, context.Cause(ctx)
	}
}

func (m *manifests) compute(digest string) (peer.Manifest, error) {
	stream, size, ok, err := m.blobs.OpenShared(digest)
	if err != nil {
		return peer.Manifest{}, err
	}
	if !ok {
		return peer.Manifest{}, errSmall
	}
	defer func() { _ = stream.Close() }()
	out := peer.Manifest{Digest: digest, Size: size}
	if size < m.minimum || out.Chunks() > peer.MaxChunks {
		return peer.Manifest{}, errSmall
	}
	buf := make([]byte, min(peer.ChunkSize, size))
	for left := size; left > 0; {
		chunk := buf[:min(peer.ChunkSize, left)]
		if _, err := io.ReadFull(stream, chunk); err != nil {
			return peer.Manifest{}, fmt.Errorf("reading blob %.12s: %w", digest, err)
		}
		sum := sha256.Sum256(chunk)
		out.Sums = append(out.Sums, sum[:]...)
		left -= int64(len(chunk))
	}
	return out, nil
}
