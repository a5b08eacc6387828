package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/renameio/v2"
	"github.com/klauspost/compress/zstd"
)

// ErrMissing means that the store does not hold the content asked for.
var ErrMissing = errors.New("not in the artifact store")

// ErrMismatch means that content does not have the digest that was promised.
var ErrMismatch = errors.New("digest mismatch")

// Blob is checked content in the store.
type Blob struct {
	// Digest is the SHA-256 of the content in hex, Size its length in bytes.
	Digest string
	Size   int64
	// Path holds the content as published, CompressedPath the same as one
	// zstd stream: what is sent to hosts.
	Path, CompressedPath string
}

// Store keeps content by its digest: sha256/<hex>, and <hex>.zst beside it.
// Several processes may use one directory at once.
type Store struct{ root string }

// OpenStore opens or creates a store at root; an empty root means
// [DefaultRoot].
func OpenStore(root string) (*Store, error) {
	if root == "" {
		var err error
		if root, err = DefaultRoot(); err != nil {
			return nil, err
		}
	}
	s := &Store{root}
	for _, dir := range []string{s.path(""), s.partialPath("")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("opening artifact store: %w", err)
		}
	}
	return s, nil
}

// Root is the store's directory.
func (s *Store) Root() string { return s.root }

func (s *Store) path(digest string) string     { return filepath.Join(s.root, "sha256", digest) }
func (s *Store) partialPath(key string) string { return filepath.Join(s.root, "partial", key) }

// Open opens the raw content, after the same check as Blob.
func (s *Store) Open(digest string) (*os.File, error) {
	blob, err := s.raw(digest)
	if err != nil {
		return nil, err
	}
	return os.Open(blob.Path)
}

// Blob returns content that is there in both forms. The digest is checked again
// when the file has been touched since the last check. ErrMissing and
// ErrMismatch are told apart with errors.Is; content that does not match is
// removed.
func (s *Store) Blob(digest string) (Blob, error) {
	blob, err := s.raw(digest)
	if err != nil {
		return Blob{}, err
	}
	if _, err := os.Stat(blob.CompressedPath); err != nil {
		return Blob{}, fmt.Errorf("%s, compressed: %w", digest, ErrMissing)
	}
	return blob, nil
}

func (s *Store) raw(digest string) (Blob, error) {
	path := s.path(digest)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Blob{}, fmt.Errorf("%s: %w", digest, ErrMissing)
	}
	if err != nil {
		return Blob{}, err
	}
	if !s.stamped(path, info) {
		if err := s.recheck(digest); err != nil {
			return Blob{}, err
		}
	}
	return Blob{Digest: digest, Size: info.Size(), Path: path, CompressedPath: path + ".zst"}, nil
}

// recheck hashes the content again, and removes it when it is not what its name
// says.
func (s *Store) recheck(digest string) error {
	path := s.path(digest)
	found, _, err := HashFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", digest, ErrMissing)
	}
	if err != nil {
		return err
	}
	if found != digest {
		err := fmt.Errorf("%s: the file was changed, its sha256 is now %s: %w; it was removed, fetch it again", path, found, ErrMismatch)
		for _, name := range []string{path, path + ".zst", path + stampSuffix} {
			if removeErr := os.Remove(name); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
				err = errors.Join(err, removeErr)
			}
		}
		return err
	}
	return s.stamp(path)
}

// Compressed makes the zstd form unless it is there, and returns its path. The
// fastest level on all cores: a network of a gigabit is slower than that, and
// better levels cost more time than they save on the way.
func (s *Store) Compressed(ctx context.Context, digest string) (path string, err error) {
	source, err := s.Open(digest)
	if err != nil {
		return "", err
	}
	defer source.Close()
	path = s.path(digest) + ".zst"
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	target, err := renameio.NewPendingFile(path, renameio.WithTempDir(s.partialPath("")), renameio.WithPermissions(0o444))
	if err != nil {
		return "", fmt.Errorf("compressing %s: %w", digest, err)
	}
	defer target.Cleanup()
	encoder, err := zstd.NewWriter(target, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)))
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(encoder, contextReader{ctx, source}); err != nil {
		return "", fmt.Errorf("compressing %s: %w", digest, errors.Join(err, encoder.Close()))
	}
	if err := encoder.Close(); err != nil {
		return "", fmt.Errorf("compressing %s: %w", digest, err)
	}
	return path, target.CloseAtomicallyReplace()
}

// contextReader ends a copy when ctx ends.
type contextReader struct {
	ctx    context.Context
	source io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.source.Read(p)
}
