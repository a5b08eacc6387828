package objectstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/minio/minio-go/v7"
)

// Download writes an object of at most limit bytes to a new file with mode 0600. The content must
// have the SHA-256 of the object's metadata, or of the store's checksum; an object with
// neither is taken as it is. Both are the store's word: they find damage, not a hostile store.
// The file exists only when Download succeeds.
//
// A download that breaks off starts again from the beginning, unlike those of package
// resumable: the object may have been replaced, and without a digest the mixture of two
// objects would not show.
func (s *Store) Download(ctx context.Context, from Location, file string, limit int64) (err error) {
	part := file + ".part"
	if err := os.Remove(part); err != nil && !os.IsNotExist(err) {
		return err
	}
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(part) //nolint:errcheck // the error that matters is returned
		}
	}()
	sum := sha256.New()
	info, err := s.read(ctx, from, io.MultiWriter(f, sum), limit)
	if err == nil {
		err = matches(info, sum.Sum(nil), from)
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(part, file)
}

// Read returns the content of an object of at most limit bytes, verified like that of Download.
func (s *Store) Read(ctx context.Context, from Location, limit int64) ([]byte, error) {
	var content bytes.Buffer
	info, err := s.read(ctx, from, &content, limit)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content.Bytes())
	return content.Bytes(), matches(info, sum[:], from)
}

// read writes the content of an object of at most limit bytes to w and returns what the store
// says of the object.
func (s *Store) read(ctx context.Context, from Location, w io.Writer, limit int64) (minio.ObjectInfo, error) {
	content, err := s.client.GetObject(ctx, from.Bucket, from.Key, minio.GetObjectOptions{Checksum: true})
	if err != nil {
		return minio.ObjectInfo{}, explained("reading", from, err)
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		return info, explained("reading", from, err)
	}
	if info.Size < 0 || info.Size > limit {
		return info, &Error{Doing: "reading", At: from, Err: fmt.Errorf("it has %d bytes, and such an object has at most %d", info.Size, limit)}
	}
	out := &writer{w: w}
	n, err := io.Copy(out, io.LimitReader(content, info.Size+1))
	switch {
	case out.err != nil:
		return info, fmt.Errorf("saving %s: %w", from, out.err)
	case err != nil:
		return info, explained("reading", from, err)
	case n != info.Size:
		return info, fmt.Errorf("reading %s: it ended after %d of %d bytes; try again", from, n, info.Size)
	}
	return info, nil
}

// writer keeps the error of a write, apart from those of the store.
type writer struct {
	w   io.Writer
	err error
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if err != nil {
		w.err = err
	}
	return n, err
}

// matches fails when an object says that its content has another SHA-256.
func matches(info minio.ObjectInfo, got []byte, from Location) error {
	if want := info.UserMetadata[metadataSHA256]; want != "" && want != hex.EncodeToString(got) {
		return fmt.Errorf("%s is damaged: its content has the SHA-256 %x, and it was written with %s; take another backup", from, got, printable(want))
	}
	// A checksum of parts has a dash and their number behind it.
	if want, err := base64.StdEncoding.DecodeString(info.ChecksumSHA256); err == nil && len(want) == sha256.Size && string(want) != string(got) {
		return fmt.Errorf("%s is damaged: its content has the SHA-256 %x, and the store says %x; take another backup", from, got, want)
	}
	return nil
}
