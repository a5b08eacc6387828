package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"deployer/engine"
)

// Blobs is the content that hosts may request. It counts the requests.
type Blobs struct {
	enc *zstd.Encoder

	mu     sync.Mutex
	packed map[string]packed // by digest
	sent   int
}

type packed struct {
	data []byte
	size int64
}

// NewBlobs returns an empty store.
func NewBlobs() (*Blobs, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return &Blobs{enc: enc, packed: map[string]packed{}}, nil
}

// AddBlob implements schedule.Blobs.
func (b *Blobs) AddBlob(content []byte) string {
	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.packed[digest]; !ok {
		b.packed[digest] = packed{b.enc.EncodeAll(content, nil), int64(len(content))}
	}
	return digest
}

// AddFile implements schedule.Blobs.
func (b *Blobs) AddFile(_ context.Context, _ any, open func() (io.ReadCloser, error)) (engine.Blob, error) {
	f, err := open()
	if err != nil {
		return engine.Blob{}, err
	}
	defer f.Close()
	content, err := io.ReadAll(f)
	return engine.Blob{Digest: b.AddBlob(content), Size: int64(len(content))}, err
}

// Download implements schedule.Blobs: a fleet reaches nothing outside.
func (b *Blobs) Download(_ context.Context, url, _ string) (engine.Blob, error) {
	return engine.Blob{}, fmt.Errorf("%s: a fleet does not download", url)
}

// Open implements remote.Blobs.
func (b *Blobs) Open(digest string) (io.ReadCloser, int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.packed[digest]
	if !ok {
		return nil, 0, fmt.Errorf("there is no blob %s", digest)
	}
	b.sent++
	return io.NopCloser(bytes.NewReader(p.data)), p.size, nil
}

// OpenShared implements tracker.Blobs.
func (b *Blobs) OpenShared(digest string) (packed io.ReadCloser, size int64, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok := b.packed[digest]
	return io.NopCloser(bytes.NewReader(p.data)), int64(len(p.data)), ok, nil
}

// Sent returns the number of blobs that hosts have requested since the last call.
func (b *Blobs) Sent() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.sent
	b.sent = 0
	return n
}
