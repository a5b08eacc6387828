package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"

	"deployer/engine/protocol"
)

// download is the transfer of a blob to the host.
type download struct{ stream *protocol.Stream }

func (d *download) end(err error) { d.stream.End(err) }

// blob requests a blob and returns its plain content. A request for a blob that is
// already in transfer waits until that transfer has ended, so that the same blob
// never travels twice at a time.
func (s *server) blob(ctx context.Context, digest string) (io.ReadCloser, error) {
	if !protocol.IsDigest(digest) {
		return nil, fmt.Errorf("%q is not the SHA-256 digest of a blob", digest)
	}
	release, err := s.reserveDownload(ctx, digest)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.nextID++
	id := s.nextID
	d := &download{stream: protocol.NewStream(s.conn, id)}
	s.blobs[id] = d
	gone := s.cause != nil
	s.mu.Unlock()
	drop := func() {
		s.mu.Lock()
		delete(s.blobs, id)
		s.mu.Unlock()
		release()
	}
	if gone {
		drop()
		return nil, s.lostError()
	}
	b, err := s.openBlob(ctx, id, digest, d)
	if err != nil {
		drop()
		return nil, fmt.Errorf("blob %.12s: %w", digest, err)
	}
	b.drop = drop
	return b, nil
}

// reserveDownload waits until no other request transfers the same blob, and returns
// the function that ends the reservation.
func (s *server) reserveDownload(ctx context.Context, digest string) (release func(), err error) {
	for {
		s.mu.Lock()
		busy := s.fetching[digest]
		if busy == nil {
			done := make(chan struct{})
			s.fetching[digest] = done
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				delete(s.fetching, digest)
				s.mu.Unlock()
				close(done)
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (s *server) openBlob(ctx context.Context, id uint32, digest string, d *download) (*blobReader, error) {
	if err := s.conn.SendJSON(protocol.BlobRequest, id, protocol.BlobMessage{Digest: digest}); err != nil {
		return nil, err
	}
	b := &blobReader{server: s, id: id, digest: digest, download: d, hash: sha256.New()}
	b.unhook = context.AfterFunc(ctx, func() { d.end(context.Cause(ctx)) })
	decoder, err := zstd.NewReader(d.stream, zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(2))
	if err != nil {
		b.unhook()
		return nil, err
	}
	b.decoder = decoder
	return b, nil
}

// blobFrame handles a frame of a download. Frames of a download that was closed may
// still arrive, so an unknown id is no error.
func (s *server) blobFrame(f protocol.Frame) error {
	s.mu.Lock()
	d := s.blobs[f.ID]
	s.mu.Unlock()
	if d == nil {
		if f.Type == protocol.BlobChunk {
			s.conn.Recycle(f.Payload)
		}
		return nil
	}
	if f.Type == protocol.BlobChunk {
		return d.stream.Push(f.Payload)
	}
	var m protocol.EndMessage
	if err := f.Decode(&m); err != nil {
		return err
	}
	if m.Error != "" {
		d.end(errors.New(m.Error))
	} else {
		d.end(nil)
	}
	return nil
}

// blobReader is the plain content of a blob, verified at its end.
type blobReader struct {
	server   *server
	id       uint32
	digest   string
	download *download
	decoder  *zstd.Decoder
	hash     hash.Hash
	read     int64
	drop     func()
	unhook   func() bool
	ended    error // io.EOF once verified
}

func (b *blobReader) Read(p []byte) (int, error) {
	if b.ended != nil {
		return 0, b.ended
	}
	n, err := b.decoder.Read(p)
	b.hash.Write(p[:n])
	b.read += int64(n)
	if err != nil {
		b.ended = b.verify(err)
		return n, b.ended
	}
	return n, nil
}

// WriteTo implements io.WriterTo, so that io.Copy takes whole decoded blocks.
func (b *blobReader) WriteTo(w io.Writer) (int64, error) {
	if b.ended != nil {
		if errors.Is(b.ended, io.EOF) {
			return 0, nil
		}
		return 0, b.ended
	}
	n, err := b.decoder.WriteTo(io.MultiWriter(w, b.hash))
	b.read += n
	if err == nil {
		err = io.EOF
	}
	if b.ended = b.verify(err); errors.Is(b.ended, io.EOF) {
		return n, nil
	}
	return n, b.ended
}

// verify returns io.EOF when err is io.EOF and the content has the right digest.
func (b *blobReader) verify(err error) error {
	if !errors.Is(err, io.EOF) {
		return fmt.Errorf("blob %.12s: %w", b.digest, err)
	}
	if sum := hex.EncodeToString(b.hash.Sum(nil)); sum != b.digest {
		return fmt.Errorf("blob %.12s: received %d bytes with SHA-256 %s, want %s: the controller's copy is damaged; run `deployer artifacts verify --repair`",
			b.digest, b.read, sum, b.digest)
	}
	return io.EOF
}

// Close stops the transfer if the blob was not read to its end.
func (b *blobReader) Close() error {
	if b.drop == nil {
		return nil
	}
	b.unhook()
	if !errors.Is(b.ended, io.EOF) {
		b.download.end(errors.New("the blob was closed"))
		_ = b.server.conn.Send(protocol.BlobStop, b.id, nil)
	}
	b.decoder.Close()
	b.drop()
	b.drop = nil
	return nil
}
