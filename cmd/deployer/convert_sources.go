package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// sourceFile is a file that convert copies.
type sourceFile struct {
	path string // as it is opened
	name string // below the new directory
	mode fs.FileMode
}

// listSources lists the files below a directory, except for .git and the directory without.
// A symbolic link is followed, as Ansible follows it, unless that leads in a circle.
func listSources(messages io.Writer, root, without string) ([]sourceFile, error) {
	var files []sourceFile
	var list func(dir, name string, above []string) error
	list = func(dir, name string, above []string) error {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return err
		}
		if real, err = filepath.Abs(real); err != nil {
			return err
		}
		for _, a := range above {
			if a == real {
				fmt.Fprintf(messages, "%s: left out: the symbolic link leads in a circle\n", dir)
				return nil
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			at, below := filepath.Join(dir, e.Name()), filepath.Join(name, e.Name())
			if abs, err := filepath.Abs(at); err != nil || abs == without || e.Name() == ".git" { // the destination may be inside the source
				continue
			}
			info, err := os.Stat(at)
			switch {
			case err != nil:
				fmt.Fprintf(messages, "%s: left out: %v\n", at, err)
			case info.IsDir():
				if err := list(at, below, append(above, real)); err != nil {
					return err
				}
			case !info.Mode().IsRegular():
				fmt.Fprintf(messages, "%s: left out: not a regular file\n", at)
			default:
				files = append(files, sourceFile{path: at, name: below, mode: info.Mode()})
			}
		}
		return nil
	}
	return files, list(root, ".", nil)
}
