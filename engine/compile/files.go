package compile

import (
	"errors"
	"io/fs"
	"os"

	"deployer/engine/lang"
)

// files returns the files of a role or a playbook.
func (c *compiler) files(owner string, places ...lang.SearchDir) *lang.Files {
	f := lang.NewFiles(owner, c.tree.Dir, c.outside, places...)
	f.Lookups, f.Disk = c.lib.Lookups, c.lib.Disk
	return f
}

// outside opens a directory on disk.
func (c *compiler) outside(dir string) fs.FS {
	if c.lib.Outside != nil {
		return c.lib.Outside(dir)
	}
	return os.DirFS(dir)
}

// read reads a file of a tree, or of a directory beside it.
func (c *compiler) read(tree lang.Tree, file string) ([]byte, error) {
	in, name, err := tree.Resolve(file, c.outside)
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(in.FS, name)
	var wrong *fs.PathError
	if errors.As(err, &wrong) && name != file {
		err = &fs.PathError{Op: wrong.Op, Path: in.DisplayPath(name), Err: wrong.Err}
	}
	return data, err
}
