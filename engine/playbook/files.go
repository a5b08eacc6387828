package playbook

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"text/template"
)

// Tree is a directory, and the name under which messages show it.
type Tree struct {
	Name string // "roles", "/home/me/site/roles"; joined with the file's path
	FS   fs.FS
	// Dir is where it is on disk, so that ../shared leads to what is beside it;
	// empty for one that is nowhere, which no name leads out of.
	Dir string
}

func (t Tree) show(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return path.Join(t.Name, name)
}

// reach returns the tree of a file: t, or the directory that holds the file, if
// its name is absolute or leads out of t.
func (t Tree) reach(file string, outside func(dir string) fs.FS) (Tree, string, error) {
	if fs.ValidPath(file) {
		return t, file, nil
	}
	dir, base := path.Split(file)
	if base == ".." || base == "" {
		dir, base = file, "."
	}
	shown := path.Clean(t.show(dir))
	switch {
	case filepath.IsAbs(file):
	case t.Dir == "":
		return Tree{}, "", errors.New("it leads out of a directory that is not on disk")
	default:
		dir = filepath.Join(t.Dir, dir)
	}
	return Tree{Name: shown, FS: outside(dir), Dir: dir}, base, nil
}

// join is the name of a file as seen from a directory of its tree.
func join(dir, name string) string {
	if filepath.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// Files finds the templates and plain files that tasks of one role, or of a
// playbook, name. It is safe for concurrent use.
type Files struct {
	owner      string // for messages: "role etcd"
	searchDirs []searchDir
	funcs      template.FuncMap
	base       string // the directory of the playbook; empty when it is not on disk
	// outside opens the directory of an absolute path.
	outside func(dir string) fs.FS

	mu     sync.Mutex
	parsed map[string]*Template
}

// searchDir is a directory to look in, for templates, files or both.
type searchDir struct {
	tree             Tree
	dir              string
	templates, plain bool
}

func newFiles(owner string, funcs template.FuncMap, places ...searchDir) *Files {
	f := &Files{owner: owner, searchDirs: places, funcs: maps.Clone(funcs), parsed: map[string]*Template{}, outside: os.DirFS}
	f.funcs[includeFunc] = f.include
	return f
}

// File reads a plain file: from files/ of the role, or by an absolute path.
func (f *Files) File(name string) ([]byte, error) {
	data, _, err := f.find(name, func(p searchDir) bool { return p.plain }, "file")
	return data, err
}

// Template returns a compiled template file: from templates/ of the role, or
// from the shared templates, or by an absolute path.
func (f *Files) Template(name string) (*Template, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.template(name, nil)
}

// template is Template with the lock held. chain are the files whose includes
// lead here.
func (f *Files) template(name string, chain []string) (*Template, error) {
	if t, ok := f.parsed[name]; ok {
		return t, nil
	}
	if slices.Contains(chain, name) {
		return nil, includeCycleError(chain, name)
	}
	data, shown, err := f.find(name, func(p searchDir) bool { return p.templates }, "template")
	if err != nil {
		return nil, err
	}
	t, err := compileTemplate(string(data), fileOrigin(shown), f.funcs)
	if err != nil {
		return nil, err
	}
	if err := f.mergeIncluded(t, append(chain, name)); err != nil {
		return nil, err
	}
	f.parsed[name] = t
	return t, nil
}

func (f *Files) find(name string, fits func(searchDir) bool, what string) (data []byte, shown string, err error) {
	tree, full, err := f.locate(name, fits, what)
	if err != nil {
		return nil, "", err
	}
	data, err = fs.ReadFile(tree.FS, full)
	if err != nil {
		return nil, "", fmt.Errorf("reading %s %s: %w", what, tree.show(full), err)
	}
	return data, tree.show(full), nil
}

// locate returns the first place that has something of that name.
func (f *Files) locate(name string, fits func(searchDir) bool, what string) (tree Tree, full string, err error) {
	if filepath.IsAbs(name) {
		tree, full, err := Tree{}.reach(path.Clean(name), f.outside)
		if err == nil {
			_, err = fs.Stat(tree.FS, full)
		}
		if err != nil {
			return Tree{}, "", fmt.Errorf("reading %s %s: %w", what, name, err)
		}
		return tree, full, nil
	}
	var tried []string
	for _, p := range f.searchDirs {
		if !fits(p) || p.tree.FS == nil {
			continue
		}
		tree, full, err := p.tree.reach(path.Join(p.dir, name), f.outside)
		if err != nil {
			return Tree{}, "", fmt.Errorf("reading %s %q of %s: %w", what, name, f.owner, err)
		}
		_, err = fs.Stat(tree.FS, full)
		if err == nil {
			return tree, full, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Tree{}, "", fmt.Errorf("reading %s %s: %w", what, tree.show(full), err)
		}
		tried = append(tried, tree.show(full))
	}
	return Tree{}, "", fmt.Errorf("%s has no %s %q; looked for %v", f.owner, what, name, tried)
}

// files are those of a role or playbook, read in the library's way.
func (c *compiler) files(owner string, places ...searchDir) *Files {
	f := newFiles(owner, c.funcs, places...)
	f.outside, f.base = c.outside, c.tree.Dir
	return f
}

// outside opens a directory on disk.
func (c *compiler) outside(dir string) fs.FS {
	if c.lib.Outside != nil {
		return c.lib.Outside(dir)
	}
	return os.DirFS(dir)
}

// read reads a file of a tree, or of what is beside it.
func (c *compiler) read(tree Tree, file string) ([]byte, error) {
	in, name, err := tree.reach(file, c.outside)
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(in.FS, name)
	var wrong *fs.PathError
	if errors.As(err, &wrong) && name != file {
		err = &fs.PathError{Op: wrong.Op, Path: in.show(name), Err: wrong.Err}
	}
	return data, err
}
