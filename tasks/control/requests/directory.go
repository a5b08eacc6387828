package requests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"deployer/cluster/external"
)

// indexFile is the name of the file that lists the open requests of a directory. A request is
// open until its authority has issued the certificate.
const indexFile = "requests.json"

// indexFormat is the number of the format of the index file. Files without a number are of
// format 0, which differs from 1 by the missing number only.
const indexFormat = 1

// Index is the content of the file that lists the open requests of a directory.
type Index struct {
	Format   int                `json:"format"`
	Requests []external.Request `json:"requests"` // sorted by path
}

// ReadIndex reads the list of open requests of a directory; the list is empty when the file
// does not exist.
func ReadIndex(dir string) (Index, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Index{}, nil
	}
	if err != nil {
		return Index{}, err
	}
	defer root.Close()
	data, err := root.ReadFile(indexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Index{}, nil
	}
	if err != nil {
		return Index{}, err
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err == nil && (head.Format < 0 || head.Format > indexFormat) {
		return Index{}, fmt.Errorf("%s in %s has the format %d and this version of deployer knows %d: use the version that has written it", indexFile, dir, head.Format, indexFormat)
	}
	var index Index
	if err := json.Unmarshal(data, &index); err != nil {
		return Index{}, fmt.Errorf("reading %s in %s: %w; remove the file, and run the same command to write it again", indexFile, dir, err)
	}
	return index, nil
}

// encode returns the content of the index file, sorted by path.
func (i Index) encode() ([]byte, error) {
	i.Format, i.Requests = indexFormat, slices.Clone(i.Requests)
	slices.SortFunc(i.Requests, func(a, b external.Request) int { return strings.Compare(a.Request, b.Request) })
	data, err := json.MarshalIndent(i, "", "  ")
	return append(data, '\n'), err
}

// directory is the set of changes to a directory of requests.
type directory struct {
	write  map[string][]byte // contents by path
	remove []string          // paths
}

// differences removes from d the changes that the files of the directory already have.
func (d *directory) differences(dir string) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		d.remove = nil
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	for name, content := range d.write {
		if have, err := root.ReadFile(name); err == nil && bytes.Equal(have, content) {
			delete(d.write, name)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	d.remove = slices.DeleteFunc(d.remove, func(name string) bool {
		_, err := root.Lstat(name)
		return errors.Is(err, fs.ErrNotExist)
	})
	return nil
}

// apply writes and removes the files. Each file is replaced atomically; the index is written
// last.
func (d *directory) apply(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range d.names() {
		if err := writeAtomic(root, name, d.write[name]); err != nil {
			return fmt.Errorf("writing %s in %s: %w", name, dir, err)
		}
	}
	for _, name := range d.remove {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s in %s: %w", name, dir, err)
		}
	}
	return nil
}

// names returns the paths of the files to write, the index last.
func (d *directory) names() []string {
	var names []string
	for name := range d.write {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if a == indexFile || b == indexFile {
			return strings.Compare(strings.TrimPrefix(b, indexFile), strings.TrimPrefix(a, indexFile))
		}
		return strings.Compare(a, b)
	})
	return names
}

func writeAtomic(root *os.Root, name string, content []byte) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	temporary := name + ".new"
	if err := root.WriteFile(temporary, content, 0o644); err != nil {
		return err
	}
	return root.Rename(temporary, name)
}
