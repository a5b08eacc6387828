package images

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/google/renameio/v2"
	"gopkg.in/yaml.v3"
)

// LockName is the lock file's usual name, beside the inventory.
const LockName = "deployer.lock"

const lockHeader = `# Written by deployer: the exact content that was accepted for each artifact.
# Keep it with the inventory. Change it with: deployer artifacts lock --update
`

// Pin is the accepted content of one artifact.
type Pin struct {
	Ref    `yaml:",inline"`
	SHA256 string `yaml:"sha256" json:"sha256"`
	// Size is in bytes.
	Size int64 `yaml:"size" json:"size"`
	// Manifest is an image's manifest digest, sha256:...; SHA256 is then the digest
	// of the archive that deployer makes of the image.
	Manifest string `yaml:"manifest,omitempty" json:"manifest,omitempty"`
	// Source is the address the content came from.
	Source string `yaml:"source" json:"source"`
}

// Lock is the lock file in memory. Lock is safe for concurrent use.
type Lock struct {
	path string
	mu   sync.Mutex
	pins map[Ref]Pin
	// dirty has the refs that were pinned here since the file was read, with their
	// pins at that time.
	dirty map[Ref]Pin
}

// LockFormat is the number of the format of lock files. Files without a number are
// of format 0, which differs from 1 only by the missing number.
const LockFormat = 1

type lockDocument struct {
	Format    int   `yaml:"format"`
	Artifacts []Pin `yaml:"artifacts"`
}

// ReadLock reads the lock file at path; one that does not exist is empty.
func ReadLock(path string) (*Lock, error) {
	pins, err := readPins(path)
	return &Lock{path: path, pins: pins, dirty: map[Ref]Pin{}}, err
}

func readPins(path string) (map[Ref]Pin, error) {
	pins := map[Ref]Pin{}
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return pins, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading lock file: %w", err)
	}
	var head struct {
		Format int `yaml:"format"`
	}
	if err := yaml.Unmarshal(content, &head); err == nil && (head.Format < 0 || head.Format > LockFormat) {
		return nil, fmt.Errorf("lock file %s has the format %d and this version of deployer knows %d: a newer version has written it; use the newer version, or remove the file and fetch the artifacts again",
			path, head.Format, LockFormat)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	var document lockDocument
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading lock file %s: %w", path, err)
	}
	for _, pin := range document.Artifacts {
		if err := errors.Join(pin.Ref.check(), checkDigest(pin.Ref, pin.SHA256)); err != nil {
			return nil, fmt.Errorf("lock file %s: %w", path, err)
		}
		if _, ok := pins[pin.Ref]; ok {
			return nil, fmt.Errorf("lock file %s: %s is pinned twice", path, pin.Ref)
		}
		pins[pin.Ref] = pin
	}
	return pins, nil
}

// Path is the path of the lock file.
func (l *Lock) Path() string { return l.path }

// Pin returns the pin of ref; false when there is none.
func (l *Lock) Pin(ref Ref) (Pin, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pin, ok := l.pins[ref]
	return pin, ok
}

// Put pins content in memory, replacing an earlier pin; Save writes it.
func (l *Lock) Put(pin Pin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.pins[pin.Ref]
	if before == pin {
		return
	}
	l.pins[pin.Ref] = pin
	if _, ok := l.dirty[pin.Ref]; !ok {
		l.dirty[pin.Ref] = before
	}
}

// Save writes new pins into the file, and keeps pins that other processes have
// written meanwhile. Without new pins it writes nothing. Another pin for the same
// artifact, written by another process, is an error.
func (l *Lock) Save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.dirty) == 0 {
		return nil
	}
	// The lock is on the directory, so that no extra file lies beside the
	// inventory.
	dir, err := os.Open(filepath.Dir(l.path))
	if err != nil {
		return fmt.Errorf("writing lock file: %w", err)
	}
	defer dir.Close()
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("locking %s: %w", dir.Name(), err)
	}
	pins, err := readPins(l.path)
	if err != nil {
		return err
	}
	for ref, before := range l.dirty {
		there, ok := pins[ref]
		if ok && there != before && there.SHA256 != l.pins[ref].SHA256 {
			return fmt.Errorf("lock file %s: %s was pinned to other content by another run meanwhile (sha256 %s, here %s): run the command again",
				l.path, ref, there.SHA256, l.pins[ref].SHA256)
		}
		pins[ref] = l.pins[ref]
	}
	content, err := yaml.Marshal(lockDocument{LockFormat, sortedPins(pins)})
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(l.path, append([]byte(lockHeader), content...), 0o644); err != nil {
		return fmt.Errorf("writing lock file: %w", err)
	}
	l.pins, l.dirty = pins, map[Ref]Pin{}
	return nil
}

func sortedPins(pins map[Ref]Pin) []Pin {
	return slices.SortedFunc(maps.Values(pins), func(a, b Pin) int { return a.Ref.Compare(b.Ref) })
}
