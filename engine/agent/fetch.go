package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"deployer/engine/protocol"
)

// download is the transfer of a blob to the host.
type download struct {
	stream *protocol.Stream
	// first is closed with the first frame of the answer: a chunk, the end, or a plan.
	first chan struct{}
	once  sync.Once

	mu    sync.Mutex
	plan  *protocol.PlanMessage // the first plan; nil when the controller sends the blob
	later func(protocol.PlanMessage)
}

func newDownload(conn *protocol.Conn, id uint32) *download {
	return &download{stream: protocol.NewStream(conn, id), first: make(chan struct{})}
}

func (d *download) begin() { d.once.Do(func() { close(d.first) }) }

func (d *download) end(err error) {
	d.stream.End(err)
	d.begin()
}

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
	b, err := s.openBlob(ctx, digest)
	if err != nil {
		release()
		return nil, fmt.Errorf("blob %.12s: %w", digest, err)
	}
	b.release = release
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

// openBlob requests a blob. The controller sends it, or a plan for its transfer from peers.
func (s *server) openBlob(ctx context.Context, digest string) (*blobReader, error) {
	in, err := s.request(ctx, protocol.BlobMessage{Digest: digest})
	if err != nil {
		return nil, err
	}
	select {
	case <-in.download.first:
	case <-ctx.Done():
		_ = in.Close()
		return nil, context.Cause(ctx)
	}
	if plan, ok := in.download.firstPlan(); ok {
		return s.openFromPeers(ctx, digest, in, plan)
	}
	return newBlobReader(digest, in)
}

// request sends a request for a blob and returns the stream of the answer.
func (s *server) request(ctx context.Context, m protocol.BlobMessage) (*incomingBlob, error) {
	s.mu.Lock()
	s.nextID++
	id := s.nextID
	d := newDownload(s.conn, id)
	gone := s.cause != nil
	if !gone {
		s.blobs[id] = d
	}
	s.mu.Unlock()
	if gone {
		return nil, s.lostError()
	}
	in := &incomingBlob{server: s, id: id, download: d}
	if err := s.conn.SendJSON(protocol.BlobRequest, id, m); err != nil {
		in.forget()
		return nil, err
	}
	in.unhook = context.AfterFunc(ctx, func() { d.end(context.Cause(ctx)) })
	return in, nil
}

// incomingBlob is the zstd stream of a blob from the controller.
type incomingBlob struct {
	server   *server
	id       uint32
	download *download
	unhook   func() bool
	ended    atomic.Bool // read to its end, by the goroutine of the decoder
}

// Read implements io.Reader.
func (i *incomingBlob) Read(p []byte) (int, error) {
	n, err := i.download.stream.Read(p)
	if errors.Is(err, io.EOF) {
		i.ended.Store(true)
	}
	return n, err
}

// Close stops the transfer if the stream was not read to its end.
func (i *incomingBlob) Close() error {
	i.unhook()
	if !i.ended.Load() {
		i.download.end(errors.New("the blob was closed"))
		_ = i.server.conn.Send(protocol.BlobStop, i.id, nil)
	}
	i.forget()
	return nil
}

func (i *incomingBlob) forget() {
	i.server.mu.Lock()
	defer i.server.mu.Unlock()
	delete(i.server.blobs, i.id)
}

// newBlobReader returns the plain content of a zstd stream, which it closes.
func newBlobReader(digest string, packed io.ReadCloser) (*blobReader, error) {
	decoder, err := zstd.NewReader(packed, zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(2))
	if err != nil {
		_ = packed.Close()
		return nil, err
	}
	return &blobReader{digest: digest, packed: packed, decoder: decoder, hash: sha256.New()}, nil
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
	switch f.Type {
	case protocol.BlobChunk:
		d.begin()
		return d.stream.Push(f.Payload)
	case protocol.BlobPlan:
		return d.planFrame(f)
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
	digest  string
	packed  io.ReadCloser
	decoder *zstd.Decoder
	hash    hash.Hash
	read    int64
	release func() // ends the reservation of the digest
	ended   error  // io.EOF once verified
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
	if b.release == nil {
		return nil
	}
	err := b.packed.Close() // before the decoder, whose goroutine may read
	b.decoder.Close()
	b.release()
	b.release = nil
	return err
}
