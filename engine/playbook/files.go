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
}

// inside refuses the name of a file that leads out of its tree.
func inside(file string) error {
	if !fs.ValidPath(file) {
		return errors.New("it leads out of the directory that it is looked for in")
	}
	return nil
}

func (t Tree) show(name string) string { return path.Join(t.Name, name) }

// Files finds the templates and plain files that tasks of one role, or of a
// playbook, name. It is safe for concurrent use.
type Files struct {
	owner  string // for messages: "role etcd"
	places []place
	funcs  template.FuncMap
	// outside opens the directory of an absolute path.
	outside func(dir string) fs.FS

	mu     sync.Mutex
	parsed map[string]*Template
}

// place is a directory to look in, for templates, files or both.
type place struct {
	tree             Tree
	dir              string
	templates, plain bool
}

func newFiles(owner string, funcs template.FuncMap, places ...place) *Files {
	f := &Files{owner: owner, places: places, funcs: maps.Clone(funcs), parsed: map[string]*Template{}, outside: os.DirFS}
	f.funcs[includeFunc] = f.include
	return f
}

// File reads a plain file: from files/ of the role, or by an absolute path.
func (f *Files) File(name string) ([]byte, error) {
	data, _, err := f.find(name, func(p place) bool { return p.plain }, "file")
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
		return nil, circle(chain, name)
	}
	data, shown, err := f.find(name, func(p place) bool { return p.templates }, "template")
	if err != nil {
		return nil, err
	}
	t, err := compileTemplate(string(data), fileOrigin(shown), f.funcs)
	if err != nil {
		return nil, err
	}
	if err := f.included(t, append(chain, name)); err != nil {
		return nil, err
	}
	f.parsed[name] = t
	return t, nil
}

func (f *Files) find(name string, fits func(place) bool, what string) (data []byte, shown string, err error) {
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
func (f *Files) locate(name string, fits func(place) bool, what string) (tree Tree, full string, err error) {
	if filepath.IsAbs(name) {
		dir, base := filepath.Split(filepath.Clean(name))
		if base == "" {
			base = "."
		}
		tree, full = Tree{Name: dir, FS: f.outside(dir)}, base
		if _, err := fs.Stat(tree.FS, full); err != nil {
			return Tree{}, "", fmt.Errorf("reading %s %s: %w", what, name, err)
		}
		return tree, full, nil
	}
	var tried []string
	for _, p := range f.places {
		if !fits(p) || p.tree.FS == nil {
			continue
		}
		full := path.Join(p.dir, name)
		if !fs.ValidPath(full) {
			return Tree{}, "", fmt.Errorf("the name %q leads out of %s", name, f.owner)
		}
		_, err := fs.Stat(p.tree.FS, full)
		if err == nil {
			return p.tree, full, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Tree{}, "", fmt.Errorf("reading %s %s: %w", what, p.tree.show(full), err)
		}
		tried = append(tried, p.tree.show(full))
	}
	return Tree{}, "", fmt.Errorf("%s has no %s %q; looked for %v", f.owner, what, name, tried)
}

// files are those of a role or playbook, read in the library's way.
func (c *compiler) files(owner string, places ...place) *Files {
	f := newFiles(owner, c.funcs, places...)
	if c.lib.Outside != nil {
		f.outside = c.lib.Outside
	}
	return f
}
