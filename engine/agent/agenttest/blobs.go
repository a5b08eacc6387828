package agenttest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Blobs holds blobs in memory; the zero value holds none.
type Blobs struct {
	mu    sync.Mutex
	blobs map[string][]byte // zstd streams
	sizes map[string]int64
	opens int
}

// Add stores data as a blob and returns its digest.
func (b *Blobs) Add(t testing.TB, data []byte) string {
	t.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.blobs == nil {
		b.blobs, b.sizes = map[string][]byte{}, map[string]int64{}
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	b.blobs[digest], b.sizes[digest] = enc.EncodeAll(data, nil), int64(len(data))
	return digest
}

// Spoil stores the content of a blob under a digest that does not match. Spoil
// returns this digest and the length of the stream in bytes.
func (b *Blobs) Spoil(digest string) (spoilt string, length int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	spoilt = strings.Repeat("0", len(digest))
	b.blobs[spoilt] = b.blobs[digest]
	return spoilt, int64(len(b.blobs[digest]))
}

// Opens returns the number of requests for blobs.
func (b *Blobs) Opens() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.opens
}

// Open implements remote.Blobs.
func (b *Blobs) Open(digest string) (io.ReadCloser, int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opens++
	data, ok := b.blobs[digest]
	if !ok {
		return nil, 0, fmt.Errorf("there is no blob %.12s", digest)
	}
	return &sized{bytes.NewReader(data)}, b.sizes[digest], nil
}

// sized is a stream that knows its length.
type sized struct{ *bytes.Reader }

func (s *sized) Close() error { return nil }
