package addons

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomizeFiles are the files of an add-on as kustomize reads them. It refuses what would leave
// them: writes, and references to files and bases of the network.
type kustomizeFiles struct {
	filesys.FileSystem // nil: what is not implemented here is not called
	r                  *reader
	refused            error // the first refused reference
}

func newKustomizeFiles(r *reader) *kustomizeFiles { return &kustomizeFiles{r: r} }

var errReadOnly = errors.New("the files of an add-on are not written")

func (f *kustomizeFiles) absolute(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(f.r.files.Dir(), path)
}

// Create implements filesys.FileSystem.
func (f *kustomizeFiles) Create(string) (filesys.File, error) { return nil, errReadOnly }

// Mkdir implements filesys.FileSystem.
func (f *kustomizeFiles) Mkdir(string) error { return errReadOnly }

// MkdirAll implements filesys.FileSystem.
func (f *kustomizeFiles) MkdirAll(string) error { return errReadOnly }

// RemoveAll implements filesys.FileSystem. Nothing was written that could be removed.
func (f *kustomizeFiles) RemoveAll(string) error { return nil }

// WriteFile implements filesys.FileSystem.
func (f *kustomizeFiles) WriteFile(string, []byte) error { return errReadOnly }

// Open implements filesys.FileSystem.
func (f *kustomizeFiles) Open(string) (filesys.File, error) { return nil, errReadOnly }

// IsDir implements filesys.FileSystem.
func (f *kustomizeFiles) IsDir(path string) bool {
	_, err := f.r.files.ReadDir(f.absolute(path))
	return err == nil
}

// Exists implements filesys.FileSystem.
func (f *kustomizeFiles) Exists(path string) bool {
	_, err := f.r.files.ReadDir(f.absolute(path))
	return err == nil || errors.Is(err, ErrNoDirectory)
}

// ReadDir implements filesys.FileSystem.
func (f *kustomizeFiles) ReadDir(path string) ([]string, error) {
	names, err := f.r.files.ReadDir(f.absolute(path))
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, "/")
	}
	return names, err
}

// CleanedAbs implements filesys.FileSystem.
func (f *kustomizeFiles) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	path = f.absolute(path)
	switch {
	case f.IsDir(path):
		return filesys.ConfirmedDir(path), "", nil
	case f.Exists(path):
		return filesys.ConfirmedDir(filepath.Dir(path)), filepath.Base(path), nil
	}
	return "", "", &os.PathError{Op: "open", Path: f.r.relative(path), Err: fs.ErrNotExist}
}

// Glob implements filesys.FileSystem, for patterns in the last element of a path.
func (f *kustomizeFiles) Glob(pattern string) ([]string, error) {
	dir, last := filepath.Split(f.absolute(pattern))
	names, _ := f.ReadDir(dir) // a missing directory has no match
	var out []string
	for _, name := range names {
		if match, err := filepath.Match(last, name); err != nil {
			return nil, err
		} else if match {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return out, nil
}

// Walk implements filesys.FileSystem. kustomize calls it for plugins only.
func (f *kustomizeFiles) Walk(string, filepath.WalkFunc) error { return errReadOnly }

// ReadFile implements filesys.FileSystem.
func (f *kustomizeFiles) ReadFile(path string) ([]byte, error) {
	path = f.absolute(path)
	content, err := f.r.read(path)
	if err != nil {
		return nil, err
	}
	for _, reference := range references(filepath.Base(path), content) {
		if f.mayRead(filepath.Dir(path), reference) {
			continue
		}
		err := fmt.Errorf("%s: %q is neither a file nor a directory; bases and files of the network are not read: copy it into the project", f.r.relative(path), reference.path)
		if f.refused == nil {
			f.refused = err
		}
		return nil, err
	}
	return content, nil
}

// mayRead reports whether kustomize reads a reference from the files alone.
func (f *kustomizeFiles) mayRead(dir string, ref reference) bool {
	if isURL(ref.path) {
		return false
	}
	return !ref.base || f.Exists(filepath.Join(dir, ref.path)) || filepath.IsAbs(ref.path) && f.Exists(ref.path)
}

// isURL reports whether kustomize reads a path with an HTTP request
// (sigs.k8s.io/kustomize/api/internal/loader, IsRemoteFile).
func isURL(path string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(strings.TrimSpace(path)), ":")
	return ok && slices.Contains([]string{"http", "https"}, scheme)
}
