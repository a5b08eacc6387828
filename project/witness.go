package project

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"deployer/engine/playbook"
)

// witness notes which files a run has read, and what was in them: hex SHA-256 by
// absolute path. It is safe for concurrent use.
type witness struct {
	mu   sync.Mutex
	seen map[string]string
}

func newWitness() *witness { return &witness{seen: map[string]string{}} }

// read is os.ReadFile.
func (w *witness) read(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		w.note(path, data)
	}
	return data, err
}

func (w *witness) note(path string, data []byte) {
	sum := sha256.Sum256(data)
	w.put(path, sum[:])
}

func (w *witness) put(path string, sum []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[Absolute(path)] = hex.EncodeToString(sum)
}

// files are those that were read so far.
func (w *witness) files() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.seen)
}

// ahead are the files that were read so far, and of those with other names what is
// in them now: templates are read only when a host comes to them.
func (w *witness) ahead(names map[string]string) map[string]string {
	out := w.files()
	for path := range names {
		if _, read := out[path]; read {
			continue
		}
		sum, err := digestOf(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out[path] = ""
		case err == nil:
			out[path] = sum
		}
	}
	return out
}

func digestOf(path string) (string, error) {
	f, err := os.Open(path)
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

// Files are the files that the project has read so far, the playbooks that it has
// compiled and what these name included: hex SHA-256 by absolute path.
func (p *Project) Files() map[string]string { return p.witness.files() }

// FilesAhead are the files that were read so far, and of those with other names
// what is in them now, which is nothing when they are gone.
func (p *Project) FilesAhead(names map[string]string) map[string]string {
	return p.witness.ahead(names)
}

// tree is a directory whose files are noted when they are read.
func (w *witness) tree(dir string) playbook.Tree {
	return playbook.Tree{Name: shown(dir), Dir: dir, FS: watchedDir{os.DirFS(dir), w, dir}}
}

// shown leaves out the working directory: messages show paths as typed.
func shown(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
}

// watchedDir is a directory of which the witness sees what is read.
type watchedDir struct {
	fs.FS
	witness *witness
	dir     string
}

// Open implements fs.FS. A file that is read to its end is noted.
func (d watchedDir) Open(name string) (fs.File, error) {
	f, err := d.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return f, nil //nolint:nilerr // whoever reads it will see
	}
	return &watchedFile{File: f, hash: sha256.New(), dir: d, name: name}, nil
}

// watchedFile notes what is in it when it is read.
type watchedFile struct {
	fs.File
	hash hash.Hash
	dir  watchedDir
	name string
}

// Read implements fs.File.
func (f *watchedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.hash.Write(p[:n])
	if errors.Is(err, io.EOF) {
		f.dir.witness.put(f.dir.path(f.name), f.hash.Sum(nil))
	}
	return n, err
}

func (d watchedDir) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

// ReadFile implements fs.ReadFileFS.
func (d watchedDir) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(d.FS, name)
	if err == nil {
		d.witness.note(d.path(name), data)
	}
	return data, err
}
