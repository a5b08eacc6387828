package objectstore

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/minio/minio-go/v7"
)

// metadataSHA256 is the key of the metadata with the SHA-256 of the content in hex.
const metadataSHA256 = "Sha256"

// checksumHeader has the SHA-256 of the content in Base64: the store refuses content with
// another one.
const checksumHeader = "x-amz-checksum-sha256"

// maxWait is the longest wait before another attempt of an upload; the first is a second, and
// each is twice as long as the one before.
const maxWait = 4 * time.Second

// partsSettle is the time after which the parts of an aborted upload are looked for again.
const partsSettle = 500 * time.Millisecond

// cleanupTimeout is the time for removing what a failed upload has left.
const cleanupTimeout = 30 * time.Second

// Upload writes a file of this machine to an object and reads the object back. Upload tries
// again when the store does not answer or has an error of its own. When it fails, it removes
// the object and all parts of it; the error says when that failed, too.
func (s *Store) Upload(ctx context.Context, file string, to Location) error {
	want, size, err := digest(file)
	if err != nil {
		return err
	}
	whole := size <= s.wholeUpTo
	for wait := time.Second; ; wait *= 2 {
		err := s.put(ctx, file, to, size, want, whole)
		if err == nil {
			err = s.verify(ctx, to, size, want)
		}
		if err == nil || refused(err) {
			return err // a refused object was never there
		}
		if left := s.discard(ctx, to, whole); left != nil || wait > maxWait || !transient(err) {
			return errors.Join(err, left)
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait):
		}
	}
}

// digest returns the SHA-256 and the size of a file.
func digest(file string) ([]byte, int64, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, f)
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s: %w", file, err)
	}
	return sum.Sum(nil), size, nil
}

// put writes an object once. The file is opened for each attempt: a connection that has
// failed may still read from it.
func (s *Store) put(ctx context.Context, file string, to Location, size int64, sum []byte, whole bool) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	options := minio.PutObjectOptions{
		ContentType: "application/octet-stream", DisableMultipart: whole,
		UserMetadata: map[string]string{metadataSHA256: hex.EncodeToString(sum)},
	}
	if whole {
		options.UserMetadata[checksumHeader] = base64.StdEncoding.EncodeToString(sum)
	} else {
		options.PartSize = uint64(s.wholeUpTo) / 10 //nolint:gosec // positive
	}
	if _, err := s.client.PutObject(ctx, to.Bucket, to.Key, f, size, options); err != nil {
		return explained("writing", to, err)
	}
	return nil
}

// verify reads an object back. The store's own checksum spares reading the content, which
// is read where the store has none of the whole object.
func (s *Store) verify(ctx context.Context, at Location, size int64, want []byte) error {
	info, err := s.client.StatObject(ctx, at.Bucket, at.Key, minio.StatObjectOptions{Checksum: true})
	if err != nil {
		return explained("reading back", at, err)
	}
	if info.Size != size || info.UserMetadata[metadataSHA256] != hex.EncodeToString(want) {
		return fmt.Errorf("%s is not what was written: it has %d bytes and the SHA-256 %q, want %d and %x", at, info.Size, printable(info.UserMetadata[metadataSHA256]), size, want)
	}
	if info.ChecksumSHA256 == base64.StdEncoding.EncodeToString(want) {
		return nil
	}
	sum := sha256.New()
	if _, err := s.read(ctx, at, sum, size); err != nil {
		return err
	}
	if got := sum.Sum(nil); string(got) != string(want) {
		return fmt.Errorf("%s is not what was written: its content has the SHA-256 %x, want %x", at, got, want)
	}
	return nil
}

// discard removes an object that does not count, and its parts unless it was written as a
// whole. discard works after ctx has ended.
func (s *Store) discard(ctx context.Context, at Location, whole bool) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer stop()
	var errs []error
	if !whole {
		errs = append(errs, s.discardParts(ctx, at))
	}
	errs = append(errs, s.client.RemoveObject(ctx, at.Bucket, at.Key, minio.RemoveObjectOptions{}))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s may have an incomplete object, which could not be removed: %w", at, err)
	}
	return nil
}

// discardParts removes the parts of uploads that did not complete. Parts that are still on their
// way may arrive after the upload was aborted, so that it has to be aborted again
// (docs.aws.amazon.com/AmazonS3, AbortMultipartUpload).
func (s *Store) discardParts(ctx context.Context, at Location) error {
	for {
		if err := s.client.RemoveIncompleteUpload(ctx, at.Bucket, at.Key); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(partsSettle):
		}
		left := false
		for upload := range s.client.ListIncompleteUploads(ctx, at.Bucket, at.Key, true) {
			if upload.Err != nil {
				return upload.Err
			}
			left = left || upload.Key == at.Key
		}
		if !left {
			return nil
		}
	}
}

// Remove removes an object; one that does not exist is no error.
func (s *Store) Remove(ctx context.Context, at Location) error {
	return s.discard(ctx, at, true)
}
