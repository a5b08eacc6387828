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

// ErrMissing says that the store does not have the content.
var ErrMissing = errors.New("not in the artifact store")

// ErrMismatch says that content does not have its digest.
var ErrMismatch = errors.New("digest mismatch")

// Blob is verified content in the store.
type Blob struct {
	// Digest is the SHA-256 of the content in hex, Size its length in bytes.
	Digest string
	Size   int64
	// Path holds the content as published, CompressedPath the same as one
	// zstd stream: what is sent to hosts.
	Path, CompressedPath string
	// Expanded is the digest of an archive without its gzip, see [Store.Expanded];
	// empty for content that is no archive of the catalogue.
	Expanded string
}

// Store keeps content by its digest: sha256/<hex>, and <hex>.zst beside it. Several
// processes may use one directory at once. Reading never removes content; see
// [Resolver.Repair]. Every file is opened through an os.Root, so that no digest and
// no link leads out of the directory.
type Store struct {
	dir  string // as messages name it
	root *os.Root
}

// OpenStore opens or creates a store at root; an empty root means
// [DefaultRoot].
func OpenStore(root string) (*Store, error) {
	if root == "" {
		var err error
		if root, err = DefaultRoot(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, fmt.Errorf("opening artifact store: %w", err)
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		return nil, fmt.Errorf("opening artifact store: %w", err)
	}
	s := &Store{dir: root, root: opened}
	for _, dir := range []string{contentDir, partialDir} {
		if err := opened.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("opening artifact store %s: %w", root, err)
		}
	}
	return s, nil
}

// The directories of a store, and the suffix of the zstd form of content.
const (
	contentDir       = "sha256"
	partialDir       = "partial"
	compressedSuffix = ".zst"
)

// Root is the store's directory.
func (s *Store) Root() string { return s.dir }

func contentName(digest string) string { return contentDir + "/" + digest }
func partialName(key string) string    { return partialDir + "/" + key }

// path returns the name of a file of the store for messages.
func (s *Store) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// OpenCompressed opens the zstd form of content, verified like Blob, and returns the
// size of the plain content in bytes.
func (s *Store) OpenCompressed(digest string) (packed *os.File, size int64, err error) {
	blob, err := s.Blob(digest)
	if err != nil {
		return nil, 0, err
	}
	packed, err = s.root.Open(contentName(digest) + compressedSuffix)
	return packed, blob.Size, err
}

// Blob returns content that exists in both forms. The digest is verified again when
// the file has changed since the last verification. Errors wrap ErrMissing or
// ErrMismatch.
func (s *Store) Blob(digest string) (Blob, error) {
	blob, err := s.raw(digest)
	if err != nil {
		return Blob{}, err
	}
	if _, err := s.root.Stat(contentName(digest) + compressedSuffix); err != nil {
		return Blob{}, fmt.Errorf("%s, compressed: %w", digest, ErrMissing)
	}
	return blob, nil
}

func (s *Store) raw(digest string) (Blob, error) {
	if !isDigest(digest) {
		return Blob{}, fmt.Errorf("%q is not a SHA-256 in lower-case hex: %w", digest, ErrMissing)
	}
	name := contentName(digest)
	info, err := s.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Blob{}, fmt.Errorf("%s: %w", digest, ErrMissing)
	}
	if err != nil {
		return Blob{}, err
	}
	if !s.hasFingerprint(name, info) {
		if err := s.recheck(digest); err != nil {
			return Blob{}, err
		}
	}
	path := s.path(name)
	return Blob{Digest: digest, Size: info.Size(), Path: path, CompressedPath: path + compressedSuffix}, nil
}

// recheck hashes the content again. The error is ErrMismatch when the digest is
// wrong.
func (s *Store) recheck(digest string) error {
	name := contentName(digest)
	file, err := s.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", digest, ErrMissing)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	found, _, err := hashOf(file)
	if err != nil {
		return fmt.Errorf("hashing %s: %w", s.path(name), err)
	}
	if found != digest {
		return &damagedError{[]string{name, name + compressedSuffix, name + fingerprintSuffix},
			fmt.Errorf("%s: the file was changed, its sha256 is now %s: %w; %s", s.path(name), found, ErrMismatch, repairAdvice)}
	}
	return s.recordFingerprint(name, info)
}

// Compressed creates the zstd form unless it exists, at the fastest level on all
// cores: better levels cost more time than they save on a gigabit network.
func (s *Store) Compressed(ctx context.Context, digest string) error {
	if _, err := s.raw(digest); err != nil {
		return err
	}
	name := contentName(digest)
	source, err := s.root.Open(name)
	if err != nil {
		return err
	}
	defer source.Close()
	if _, err := s.root.Stat(name + compressedSuffix); err == nil {
		return nil
	}
	target, err := renameio.NewPendingFile(name+compressedSuffix, renameio.WithRoot(s.root), renameio.WithPermissions(0o444))
	if err != nil {
		return fmt.Errorf("compressing %s: %w", digest, err)
	}
	defer target.Cleanup()
	encoder, err := zstd.NewWriter(target, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)))
	if err != nil {
		return err
	}
	if _, err := io.Copy(encoder, contextReader{ctx, source}); err != nil {
		return fmt.Errorf("compressing %s: %w", digest, errors.Join(err, encoder.Close()))
	}
	if err := encoder.Close(); err != nil {
		return fmt.Errorf("compressing %s: %w", digest, err)
	}
	return target.CloseAtomicallyReplace()
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
