package main

import (
	"crypto/sha256"
	"encoding/hex"
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
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	sum := sha256.Sum256(data)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[path] = hex.EncodeToString(sum[:])
}

// files are those that were read so far.
func (w *witness) files() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.seen)
}

// tree is a directory whose files are noted when they are read.
func (w *witness) tree(dir string) playbook.Tree {
	return playbook.Tree{Name: shownDir(dir), FS: watchedDir{os.DirFS(dir), w, dir}}
}

type watchedDir struct {
	fs.FS
	witness *witness
	dir     string
}

// ReadFile implements fs.ReadFileFS.
func (d watchedDir) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(d.FS, name)
	if err == nil {
		d.witness.note(filepath.Join(d.dir, filepath.FromSlash(name)), data)
	}
	return data, err
}
