package repository

import (
	"errors"
	"os"
	"path/filepath"
)

// replaceFile writes a file so that readers see the former or the new content.
func replaceFile(path, content string) error { return writeFile(path, content, os.Rename) }

// writeFile writes a file that only its owner can read, with another name, and then gives it its
// own with place: os.Rename replaces a file, os.Link leaves one that exists.
func writeFile(path, content string, place func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return place(f.Name(), path)
}
