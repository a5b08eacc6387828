package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrOutside is the error for a file outside of Options.Confined.
var ErrOutside = errors.New("the path leads out of the revision")

// sourceFiles opens the files that a project consists of: any file of the machine, or only
// those below one directory. The zero value opens any.
type sourceFiles struct {
	dir  string   // absolute; empty for any
	root *os.Root // of dir
}

// openSourceFiles returns the files below a directory; any file for an empty one.
func openSourceFiles(dir string) (sourceFiles, error) {
	if dir == "" {
		return sourceFiles{}, nil
	}
	root, err := os.OpenRoot(dir)
	return sourceFiles{Absolute(dir), root}, err
}

// confined reports whether only the files of one directory are opened.
func (s sourceFiles) confined() bool { return s.root != nil }

// local returns a path relative to the directory; ErrOutside for one that leads out of it, or
// into the metadata of git, by its name or through links.
func (s sourceFiles) local(path string) (string, error) {
	rel, err := filepath.Rel(s.dir, Absolute(path))
	if err != nil || !filepath.IsLocal(rel) || InGitMetadata(rel) || s.leadsToGit(rel) {
		return "", fmt.Errorf("%s: %w: CI assesses a pushed revision by its own files", path, ErrOutside)
	}
	return rel, nil
}

// leadsToGit reports whether links on the way of a path lead into the metadata of git. Links out of
// the directory are left to the root.
func (s sourceFiles) leadsToGit(rel string) bool {
	target, err := LinkTarget(s.dir, rel)
	return err == nil && InGitMetadata(target)
}

// InGitMetadata reports whether a path, relative to the top of a checkout and without links, is that of
// git's metadata.
func InGitMetadata(rel string) bool {
	return rel == ".git" || strings.HasPrefix(rel, ".git/")
}

// LinkTarget returns the path of a file after all links on its way, relative to dir, which it may
// lead out of. The error of a file that does not exist is fs.ErrNotExist.
func LinkTarget(dir, rel string) (string, error) {
	top, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	file, err := filepath.EvalSymlinks(filepath.Join(dir, rel))
	if err != nil {
		return "", err
	}
	return filepath.Rel(top, file)
}

// hides reports whether a source of artifacts, which an inventory in dir names, is a file or a
// directory that must not be opened.
func (s sourceFiles) hides(source, dir string) bool {
	if !s.confined() || source == "" || source == "upstream" || strings.Contains(source, "://") {
		return false
	}
	if strings.HasPrefix(source, "~/") {
		return true
	}
	if !filepath.IsAbs(source) {
		source = filepath.Join(dir, source)
	}
	_, err := s.local(source)
	return err != nil
}

// open opens a file. In a confined directory links are followed only within it: the content is that of
// the revision then, and shared files of inventories and roles are often links.
func (s sourceFiles) open(path string) (*os.File, error) {
	if !s.confined() {
		return os.Open(path)
	}
	rel, err := s.local(path)
	if err != nil {
		return nil, err
	}
	return s.root.Open(rel)
}

// readFile reads a file.
func (s sourceFiles) readFile(path string) ([]byte, error) {
	if !s.confined() {
		return os.ReadFile(path)
	}
	rel, err := s.local(path)
	if err != nil {
		return nil, err
	}
	return s.root.ReadFile(rel)
}

// tree returns the files below a directory.
func (s sourceFiles) tree(dir string) fs.FS {
	if !s.confined() {
		return os.DirFS(dir)
	}
	rel, err := s.local(dir)
	if err != nil {
		return noFiles{err}
	}
	sub, err := fs.Sub(s.root.FS(), filepath.ToSlash(rel))
	if err != nil {
		return noFiles{err}
	}
	return confinedDir{sub, s, dir}
}

// confinedDir is a directory of a revision, without the metadata of git in it.
type confinedDir struct {
	fs.FS
	files sourceFiles
	dir   string
}

// Open implements fs.FS.
func (d confinedDir) Open(name string) (fs.File, error) {
	if _, err := d.files.local(filepath.Join(d.dir, name)); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return d.FS.Open(name)
}

// noFiles is a directory without files: err says why.
type noFiles struct{ err error }

// Open implements fs.FS.
func (n noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: n.err}
}
