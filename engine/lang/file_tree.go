package lang

import (
	"fmt"
	"io/fs"
	"strings"

	"deployer/engine"
)

func isPlain(p SearchDir) bool { return p.Files }

// Open opens a plain file, as File reads it.
func (f *Files) Open(name string) (fs.File, error) {
	tree, full, err := f.locate(name, isPlain, "file")
	if err != nil {
		return nil, err
	}
	return tree.FS.Open(full)
}

// Walk lists what is below a directory of files/; see engine.PrepareContext.
func (f *Files) Walk(name string) ([]engine.FileEntry, error) {
	tree, root, err := f.locate(name, isPlain, "file")
	if err != nil {
		return nil, err
	}
	var out []engine.FileEntry
	err = fs.WalkDir(tree.FS, root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := fs.Stat(tree.FS, p) // a link stands for what it leads to
		if err != nil {
			return err
		}
		e := engine.FileEntry{Name: relativeTo(root, p), Mode: info.Mode(), Size: info.Size()}
		switch {
		case d.IsDir() && p == root:
		case d.IsDir(), info.Mode().IsRegular():
			out = append(out, e)
		default:
			return fmt.Errorf("%s is not a regular file, a directory or a link to a regular file", tree.DisplayPath(p))
		}
		return nil
	})
	return out, err
}

// relativeTo returns p relative to root; empty for root itself.
func relativeTo(root, p string) string {
	switch {
	case p == root:
		return ""
	case root == ".":
		return p
	}
	return strings.TrimPrefix(p, root+"/")
}
