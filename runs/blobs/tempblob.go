package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"

	"deployer/engine"
)

// packedFile is a file that is compressed once for all hosts.
type packedFile struct {
	mu   sync.Mutex // held during compression; other callers wait
	blob engine.Blob
}

// tempBlob is zstd-compressed content in an unlinked temporary file, which the kernel
// removes at the end of the process.
type tempBlob struct {
	packed *os.File
	length int64 // bytes of the zstd form
	size   int64 // bytes of the plain content
}

// AddFile implements schedule.Blobs.
func (b *Store) AddFile(ctx context.Context, key any, open func() (io.ReadCloser, error)) (engine.Blob, error) {
	b.mu.Lock()
	f := b.files[key]
	if f == nil {
		f = &packedFile{}
		b.files[key] = f
	}
	b.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blob.Digest != "" {
		return f.blob, nil
	}
	var err error
	f.blob, err = b.addTemp(ctx, open)
	return f.blob, err
}

func (b *Store) addTemp(ctx context.Context, open func() (io.ReadCloser, error)) (engine.Blob, error) {
	content, err := open()
	if err != nil {
		return engine.Blob{}, err
	}
	defer content.Close()
	s, digest, err := packTemp(ctx, content)
	if err != nil {
		return engine.Blob{}, fmt.Errorf("compressing the file for hosts: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if old := b.temp[digest]; old != nil { // the same content with another name
		_ = s.packed.Close()
		s = old
	}
	b.temp[digest] = s
	return engine.Blob{Digest: digest, Size: s.size}, nil
}

func packTemp(ctx context.Context, content io.Reader) (*tempBlob, string, error) {
	packed, err := os.CreateTemp("", "deployer-blob-*")
	if err != nil {
		return nil, "", err
	}
	s := &tempBlob{packed: packed}
	digest, err := s.fill(ctx, content)
	if err = errors.Join(err, os.Remove(packed.Name())); err != nil {
		_ = packed.Close()
		return nil, "", err
	}
	return s, digest, nil
}

// writeTemp writes compressed content to a temporary file.
func writeTemp(packed []byte, size int64) (*tempBlob, error) {
	file, err := os.CreateTemp("", "deployer-blob-*")
	if err != nil {
		return nil, err
	}
	_, err = file.Write(packed)
	if err = errors.Join(err, os.Remove(file.Name())); err != nil {
		_ = file.Close()
		return nil, err
	}
	return &tempBlob{packed: file, length: int64(len(packed)), size: size}, nil
}

func (s *tempBlob) fill(ctx context.Context, content io.Reader) (digest string, err error) {
	enc, err := zstd.NewWriter(s.packed, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	s.size, err = io.Copy(io.MultiWriter(enc, sum), contextReader{ctx, content})
	if err = errors.Join(err, enc.Close()); err != nil {
		return "", err
	}
	s.length, err = s.packed.Seek(0, io.SeekCurrent)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// open returns a reader of the compressed content; several may be in use at once.
func (s *tempBlob) open() (io.ReadCloser, int64) {
	return fileReader{io.NewSectionReader(s.packed, 0, s.length)}, s.size
}

// fileReader is a stream with a known length, for progress.
type fileReader struct{ *io.SectionReader }

// Close implements io.Closer.
func (fileReader) Close() error { return nil }

// contextReader fails when its context ends.
type contextReader struct {
	ctx     context.Context
	content io.Reader
}

func (u contextReader) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.content.Read(p)
}
