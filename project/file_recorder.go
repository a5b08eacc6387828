package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"sync"

	"deployer/engine/lang"
)

// fileRecorder records the files that a run has read: hex SHA-256 by absolute path. fileRecorder
// is safe for concurrent use.
type fileRecorder struct {
	files sourceFiles
	mu    sync.Mutex
	seen  map[string]string
}

func newFileRecorder(files sourceFiles) *fileRecorder {
	return &fileRecorder{files: files, seen: map[string]string{}}
}

// readFile reads and records a file.
func (w *fileRecorder) readFile(path string) ([]byte, error) {
	data, err := w.files.readFile(path)
	if err == nil {
		w.record(path, data)
	}
	return data, err
}

func (w *fileRecorder) record(path string, data []byte) {
	sum := sha256.Sum256(data)
	w.recordSum(path, sum[:])
}

func (w *fileRecorder) recordSum(path string, sum []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[Absolute(path)] = hex.EncodeToString(sum)
}

// digests returns the digests of the files read so far.
func (w *fileRecorder) digests() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.seen)
}

// digestsNow returns the digests of the files read so far. For other files of names,
// such as templates, which are read only when a host needs them, it reads the present
// content; the digest of a file that does not exist is empty.
func (w *fileRecorder) digestsNow(names map[string]string) map[string]string {
	out := w.digests()
	for path := range names {
		if _, read := out[path]; read {
			continue
		}
		sum, err := w.files.digest(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out[path] = ""
		case err == nil:
			out[path] = sum
		}
	}
	return out
}

// digest returns the hex SHA-256 of a file.
func (s sourceFiles) digest(path string) (string, error) {
	f, err := s.open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// Digests returns the files that the project has read so far, with playbooks and the
// files that they name: hex SHA-256 by absolute path.
func (p *Project) Digests() map[string]string { return p.recorder.digests() }

// DigestsNow returns Digests, and for the other files of names the digests of their
// present content: empty when a file does not exist.
func (p *Project) DigestsNow(names map[string]string) map[string]string {
	return p.recorder.digestsNow(names)
}

// tree returns a directory whose files are recorded when they are read.
func (w *fileRecorder) tree(dir string) lang.Tree {
	return lang.Tree{Name: displayPath(dir), Dir: dir, FS: recordedDir{w.files.tree(dir), w, dir}}
}

// displayPath leaves out "." so that messages show paths as the user typed them.
func displayPath(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
}

// recordedDir is a directory whose files are recorded when they are read.
type recordedDir struct {
	fs.FS
	recorder *fileRecorder
	dir      string
}

// Open implements fs.FS. A file that is read to its end is recorded.
func (d recordedDir) Open(name string) (fs.File, error) {
	f, err := d.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return f, nil //nolint:nilerr // the caller's Read returns the error
	}
	return &recordedFile{File: f, hash: sha256.New(), dir: d, name: name}, nil
}

// recordedFile hashes a file while it is read.
type recordedFile struct {
	fs.File
	hash hash.Hash
	dir  recordedDir
	name string
}

// Read implements fs.File.
func (f *recordedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.hash.Write(p[:n])
	if errors.Is(err, io.EOF) {
		f.dir.recorder.recordSum(f.dir.path(f.name), f.hash.Sum(nil))
	}
	return n, err
}

func (d recordedDir) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

// ReadFile implements fs.ReadFileFS.
func (d recordedDir) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(d.FS, name)
	if err == nil {
		d.recorder.record(d.path(name), data)
	}
	return data, err
}
