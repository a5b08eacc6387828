package addons

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path/filepath"
	"slices"

	"deployer/cluster"
)

// Files are the files of add-ons. Paths are absolute, or relative to the inventory.
type Files interface {
	// Dir returns the absolute directory of the inventory.
	Dir() string
	// LookupEnv returns the value of an environment variable, for the tag !env.
	LookupEnv(name string) (string, bool)
	// AddSecrets adds texts that must not appear in any output.
	AddSecrets(texts []string)
	// ReadFile returns the content of a regular file of at most limit bytes, decrypted where its
	// name ends in .age.
	ReadFile(path string, limit int64) ([]byte, error)
	// ReadChart returns the chart of a registry or repository, and the digest under which it is
	// pinned. The error is ErrUnfetched for one that must be fetched first.
	ReadChart(spec cluster.AddonSpec) (content []byte, digest string, err error)
	// ReadDir returns the names below a directory, sorted; names of directories end in a slash.
	// A path that is no directory is an error for errors.Is(err, ErrNoDirectory).
	ReadDir(path string) ([]string, error)
}

// ErrUnfetched is the error of Files.ReadChart for a chart that must be fetched first.
var ErrUnfetched = errors.New("the chart is not fetched yet")

// ErrNoDirectory is the error of Files.ReadDir for a path that is a file.
var ErrNoDirectory = fmt.Errorf("it is no directory: %w", fs.ErrInvalid)

// The limits of one add-on. Manifests of the largest projects have about 5 MB.
const (
	maxBytes = 64 << 20
	maxFiles = 10_000
	maxDepth = 32
)

// reader reads files within the limits, and computes their digest.
type reader struct {
	files Files
	left  int64 // bytes
	count int
	sum   hash.Hash
}

func newReader(files Files) *reader {
	return &reader{files: files, left: maxBytes, sum: sha256.New()}
}

func (r *reader) read(path string) ([]byte, error) {
	if r.count++; r.count > maxFiles {
		return nil, fmt.Errorf("it has more than %d files", maxFiles)
	}
	content, err := r.files.ReadFile(path, r.left)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.relative(path), err)
	}
	r.left -= int64(len(content))
	fmt.Fprintf(r.sum, "%q %d\n", r.relative(path), len(content))
	r.sum.Write(content)
	return content, nil
}

// relative returns a path relative to the inventory.
func (r *reader) relative(path string) string {
	if rel, err := filepath.Rel(r.files.Dir(), path); err == nil && filepath.IsAbs(path) {
		return rel
	}
	return path
}

// walk returns the paths of all files below a directory.
func (r *reader) walk(dir string) ([]string, error) { return r.walkFrom(dir, 0) }

func (r *reader) walkFrom(dir string, depth int) ([]string, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s: directories are nested more than %d times; a link may lead into a directory above it", dir, maxDepth)
	}
	names, err := r.files.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", dir, err)
	}
	var out []string
	for _, name := range names {
		path := filepath.Join(dir, name)
		if name[len(name)-1] != '/' {
			out = append(out, path)
			continue
		}
		below, err := r.walkFrom(path, depth+1)
		if err != nil {
			return nil, err
		}
		if out = append(out, below...); len(out) > maxFiles {
			return nil, fmt.Errorf("%s has more than %d files", dir, maxFiles)
		}
	}
	return slices.Clip(out), nil
}

func (r *reader) digest() string { return hex.EncodeToString(r.sum.Sum(nil)) }
