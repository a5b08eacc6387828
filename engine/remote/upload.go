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
	"deployer/engine/protocol"
)

// maxUploads is the maximum number of blobs in transfer to one host.
const maxUploads = 32

// progressInterval is the interval between two progress events of a blob.
const progressInterval = 250 * time.Millisecond

// upload is a blob in transfer.
type upload struct {
	digest string
	credit *protocol.Credit
	stop   context.CancelCauseFunc
}

var errBlobStopped = errors.New("the host stopped the blob")

func (s *Session) blobFrame(f protocol.Frame) error {
	if f.Type == protocol.BlobRequest {
		return s.beginUpload(f)
	}
	s.mu.Lock()
	u := s.uploads[f.ID]
	s.mu.Unlock()
	if u == nil {
		return nil // the upload has ended meanwhile
	}
	if f.Type == protocol.BlobStop {
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
func (s *Session) beginUpload(f protocol.Frame) error {
	request, err := f.BlobMessage()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.uploads[f.ID]; twice || len(s.uploads) == maxUploads {
		return &protocol.Error{Reason: fmt.Sprintf("blob request %d: its id is in use, or too many blobs are in transfer", f.ID)}
	}
	ctx, stop := context.WithCancelCause(s.ctx)
	u := &upload{digest: request.Digest, credit: protocol.NewCredit(), stop: stop}
	s.uploads[f.ID] = u
	s.idle.Go(func() {
		defer stop(nil)
		end := protocol.EndMessage{}
		if err := s.answer(ctx, f.ID, request, u.credit); err != nil {
			end.Error = s.blobErrorForHost(request.Digest, err)
		}
		s.mu.Lock()
		delete(s.uploads, f.ID)
		s.mu.Unlock()
		if err := s.conn.SendJSON(protocol.BlobEnd, f.ID, end); err != nil {
			go s.end(err)
		}
	})
	return nil
}

// answer sends plans for a blob, or the blob.
func (s *Session) answer(ctx context.Context, id uint32, request protocol.BlobMessage, credit *protocol.Credit) error {
	if !request.Direct {
		if planned, err := s.plan(ctx, id, request.Digest); planned {
			return err
		}
	}
	return s.upload(ctx, id, request, credit)
}

func (s *Session) upload(ctx context.Context, id uint32, request protocol.BlobMessage, credit *protocol.Credit) error {
	digest := request.Digest
	if s.opts.Blobs == nil || !s.namesBlob(digest) {
		return errNoBlob
	}
	stream, _, err := s.opts.Blobs.Open(digest)
	if err != nil {
		return &blobError{errNoBlob, err}
	}
	defer func() { _ = stream.Close() }()
	if _, err := io.CopyN(io.Discard, stream, request.Offset); err != nil {
		return &blobError{errUnreadable, err}
	}
	progress := &transfer{session: s, digest: digest, sent: request.Offset, total: streamLength(stream)}
	buf := make([]byte, protocol.ChunkSize)
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

// Errors that a host gets instead of a blob. The cause, with paths and file states of the
// controller, goes only to the controller's own output.
var (
	errNoBlob     = errors.New("the controller has no such blob for this host; see the controller's output")
	errUnreadable = errors.New("the controller cannot read this blob; see the controller's output")
	errBrokenOff  = errors.New("the transfer of the blob was aborted")
)

// blobError is a failure of the controller to send a blob.
type blobError struct {
	public error // text for the host
	cause  error
}

// Error returns the cause, for the controller's user.
func (e *blobError) Error() string { return e.cause.Error() }

// blobErrorForHost returns the text of an error for the host, and emits the cause as
// a warning for the controller's user.
func (s *Session) blobErrorForHost(digest string, err error) string {
	var trouble *blobError
	switch {
	case errors.As(err, &trouble):
		s.emit(engine.Event{Type: engine.EventWarning, Text: fmt.Sprintf("sending blob %.12s failed: %v", digest, trouble.cause)})
		return trouble.public.Error()
	case errors.Is(err, errNoBlob), errors.Is(err, errBlobStopped):
		return err.Error()
	}
	return errBrokenOff.Error()
}

// namesBlob reports whether a step in flight on the host names the blob in a field
// Blob of its arguments: a host gets only the blobs of its own steps. A text in the
// arguments cannot imitate the field, because its quotes are escaped.
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

// chunks sends data within the host's credit.
func (s *Session) chunks(ctx context.Context, id uint32, credit *protocol.Credit, data []byte) error {
	for len(data) > 0 {
		n, err := credit.Take(ctx, len(data))
		if err != nil {
			return err
		}
		if err := s.conn.Send(protocol.BlobChunk, id, data[:n]); err != nil {
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
	t.session.emit(engine.Event{Type: engine.EventTransfer, Name: t.digest, Bytes: t.sent, Total: t.total})
}

// streamLength returns the length of a stream in bytes, 0 when it is unknown.
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
