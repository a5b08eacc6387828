package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"deployer/engine"
	"deployer/engine/wire"
)

// maxUploads bounds the blobs that are on their way to one host at once.
const maxUploads = 32

// progressInterval is how often the progress of a blob is reported.
const progressInterval = 250 * time.Millisecond

// upload is a blob on its way.
type upload struct {
	credit *wire.Credit
	stop   context.CancelCauseFunc
}

var errBlobStopped = errors.New("the host does not want the rest")

func (s *Session) blobFrame(f wire.Frame) error {
	if f.Type == wire.BlobRequest {
		return s.beginUpload(f)
	}
	s.mu.Lock()
	u := s.uploads[f.ID]
	s.mu.Unlock()
	if u == nil {
		return nil // it has ended meanwhile
	}
	if f.Type == wire.BlobStop {
		u.stop(errBlobStopped)
		return nil
	}
	n, err := f.Grant()
	if err != nil {
		return err
	}
	return u.credit.Add(n)
}

// beginUpload sends a blob in a goroutine of its own.
func (s *Session) beginUpload(f wire.Frame) error {
	digest, err := f.BlobDigest()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.uploads[f.ID]; twice || len(s.uploads) == maxUploads {
		return &wire.ProtocolError{Reason: fmt.Sprintf("blob request %d is one too many", f.ID)}
	}
	ctx, stop := context.WithCancelCause(s.ctx)
	u := &upload{credit: wire.NewCredit(), stop: stop}
	s.uploads[f.ID] = u
	s.idle.Go(func() {
		defer stop(nil)
		end := wire.EndMessage{}
		if err := s.upload(ctx, f.ID, digest, u.credit); err != nil {
			end.Error = s.blobErrorForHost(digest, err)
		}
		s.mu.Lock()
		delete(s.uploads, f.ID)
		s.mu.Unlock()
		if err := s.conn.SendJSON(wire.BlobEnd, f.ID, end); err != nil {
			go s.end(err)
		}
	})
	return nil
}

func (s *Session) upload(ctx context.Context, id uint32, digest string, credit *wire.Credit) error {
	if s.opts.Blobs == nil || !s.namesBlob(digest) {
		return errNoBlob
	}
	stream, _, err := s.opts.Blobs.Open(digest)
	if err != nil {
		return &blobError{errNoBlob, err}
	}
	defer func() { _ = stream.Close() }()
	progress := &transfer{session: s, digest: digest, total: streamLength(stream)}
	buf := make([]byte, wire.ChunkSize)
	for {
		n, readErr := io.ReadFull(stream, buf)
		if err := s.chunks(ctx, id, credit, buf[:n]); err != nil {
			return err
		}
		progress.add(n)
		switch {
		case errors.Is(readErr, io.EOF), errors.Is(readErr, io.ErrUnexpectedEOF):
			progress.report()
			return nil
		case readErr != nil:
			return &blobError{errUnreadable, readErr}
		}
	}
}

// The texts that a host gets instead of a blob. Why it is so is the controller's
// business: paths and the state of its files are in its own output only.
var (
	errNoBlob     = errors.New("the controller has no such blob for this host; its own output says more")
	errUnreadable = errors.New("the controller cannot read this blob; its own output says more")
	errBrokenOff  = errors.New("the blob was broken off")
)

// blobError is trouble with a blob on the controller.
type blobError struct {
	public error // for the host
	cause  error
}

// Error is for the controller's user.
func (e *blobError) Error() string { return e.cause.Error() }

// blobErrorForHost is what a host is told of trouble with a blob. The cause goes to
// the controller's user.
func (s *Session) blobErrorForHost(digest string, err error) string {
	var trouble *blobError
	switch {
	case errors.As(err, &trouble):
		s.emit(engine.Event{Type: engine.Warning, Text: fmt.Sprintf("asked for the blob %.12s, which cannot be sent: %v", digest, trouble.cause)})
		return trouble.public.Error()
	case errors.Is(err, errNoBlob), errors.Is(err, errBlobStopped):
		return err.Error()
	}
	return errBrokenOff.Error()
}

// namesBlob reports whether a step that the host is carrying out names the blob, in a
// field Blob of its arguments: a host gets what was made for it and nothing else. A
// text in the arguments cannot pass for that field, as its quotes are escaped.
func (s *Session) namesBlob(digest string) bool {
	field := []byte(`"Blob":"` + digest + `"`)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.segments {
		for i := range run.steps {
			if bytes.Contains(run.steps[i].Args, field) {
				return true
			}
		}
	}
	return false
}

// chunks sends data as far and as fast as the host allows.
func (s *Session) chunks(ctx context.Context, id uint32, credit *wire.Credit, data []byte) error {
	for len(data) > 0 {
		n, err := credit.Take(ctx, len(data))
		if err != nil {
			return err
		}
		if err := s.conn.Send(wire.BlobChunk, id, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// transfer reports the progress of one blob.
type transfer struct {
	session *Session
	digest  string
	sent    int64
	total   int64
	last    time.Time
}

func (t *transfer) add(n int) {
	t.sent += int64(n)
	if now := time.Now(); now.Sub(t.last) >= progressInterval {
		t.last = now
		t.report()
	}
}

func (t *transfer) report() {
	t.session.emit(engine.Event{Type: engine.Transfer, Name: t.digest, Bytes: t.sent, Total: t.total})
}

// streamLength is the length of the stream in bytes, 0 when it cannot be known.
func streamLength(stream io.Reader) int64 {
	switch r := stream.(type) {
	case interface{ Size() int64 }:
		return r.Size()
	case interface{ Stat() (fs.FileInfo, error) }:
		if info, err := r.Stat(); err == nil {
			return info.Size()
		}
	}
	return 0
}
