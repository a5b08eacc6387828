package lang

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

// Tree is a directory of playbooks, roles or templates.
type Tree struct {
	Name string // name in messages, joined with the path of a file: "roles", "/home/me/site/roles"
	FS   fs.FS
	// Dir is the path of the tree on disk, through which ../shared names the
	// directory beside it; empty for a tree that is not on disk, such as the embedded
	// roles.
	Dir string
}

// DisplayPath returns the path of a file of the tree as messages show it.
func (t Tree) DisplayPath(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return path.Join(t.Name, name)
}

// Resolve returns the tree of a file and the name in it: t itself, or the directory of the
// file when its name is absolute or leads out of t.
func (t Tree) Resolve(file string, outside func(dir string) fs.FS) (Tree, string, error) {
	if fs.ValidPath(file) {
		return t, file, nil
	}
	dir, base := path.Split(file)
	if base == ".." || base == "" {
		dir, base = file, "."
	}
	shown := path.Clean(t.DisplayPath(dir))
	switch {
	case filepath.IsAbs(file):
	case t.Dir == "":
		return Tree{}, "", errors.New("the path leaves a directory that is not on disk")
	default:
		dir = filepath.Join(t.Dir, dir)
	}
	return Tree{Name: shown, FS: outside(dir), Dir: dir}, base, nil
}

// JoinPath returns the name in its tree of a file that is named as seen from dir.
func JoinPath(dir, name string) string {
	if filepath.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}

// Files finds the templates and plain files that the tasks of one role, or of a playbook,
// name. Files is safe for concurrent use.
type Files struct {
	// Lookups decides about the lookups in texts that name these files.
	Lookups *Lookups
	// Disk opens a directory for FromDisk; nil means os.DirFS.
	Disk func(dir string) fs.FS

	owner       string // for messages: "role etcd"
	searchDirs  []SearchDir
	funcs       template.FuncMap
	playbookDir string // the directory of the playbook; empty when it is not on disk
	// openDir opens the directory of an absolute path.
	openDir func(dir string) fs.FS

	mu     sync.Mutex
	parsed map[string]*Template
}

// SearchDir is a directory in which Files looks for templates, files or both.
type SearchDir struct {
	Tree             Tree
	Dir              string
	Templates, Files bool
}

// fileFunctions are Functions, made once.
var fileFunctions = sync.OnceValue(Functions)

// NewFiles returns the files of owner, a role or a playbook as messages call it.
// playbookDir is the directory of the playbook, empty when it is not on disk. openDir opens
// the directory of a file that is named by an absolute path.
func NewFiles(owner, playbookDir string, openDir func(dir string) fs.FS, places ...SearchDir) *Files {
	f := &Files{owner: owner, searchDirs: places, funcs: maps.Clone(fileFunctions()), playbookDir: playbookDir, openDir: openDir, parsed: map[string]*Template{}}
	f.funcs[includeFunc] = f.include
	f.funcs[exprFunc] = (*Template)(nil).evaluateExpr // each template has its own
	return f
}

// SearchDirs returns the directories in the order of the search. The slice must not be
// changed.
func (f *Files) SearchDirs() []SearchDir { return f.searchDirs }

// FromDisk returns the same files as they are on disk now, with nothing cached. Directories
// that are not on disk stay as they are.
func (f *Files) FromDisk() *Files {
	disk := f.Disk
	if disk == nil {
		disk = os.DirFS
	}
	dirs := slices.Clone(f.searchDirs)
	for i, p := range dirs {
		if p.Tree.Dir != "" {
			dirs[i].Tree.FS = disk(p.Tree.Dir)
		}
	}
	out := NewFiles(f.owner, "", disk, dirs...)
	out.Lookups, out.Disk = f.Lookups, f.Disk
	return out
}

// File reads a plain file: from files/ of the role, or by an absolute path.
func (f *Files) File(name string) ([]byte, error) {
	data, _, err := f.find(name, func(p SearchDir) bool { return p.Files }, "file")
	return data, err
}

// Template returns a compiled template file: from templates/ of the role, from the shared
// templates, or by an absolute path. Each file is compiled once.
func (f *Files) Template(name string) (*Template, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.template(name, nil)
}

// template is Template with the lock held. chain are the files whose includes lead here.
func (f *Files) template(name string, chain []string) (*Template, error) {
	if t, ok := f.parsed[name]; ok {
		return t, nil
	}
	if slices.Contains(chain, name) {
		return nil, includeCycleError(chain, name)
	}
	data, shown, err := f.find(name, func(p SearchDir) bool { return p.Templates }, "template")
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

func (f *Files) find(name string, fits func(SearchDir) bool, what string) (data []byte, shown string, err error) {
	tree, full, err := f.locate(name, fits, what)
	if err != nil {
		return nil, "", err
	}
	data, err = fs.ReadFile(tree.FS, full)
	if err != nil {
		return nil, "", fmt.Errorf("reading %s %s: %w", what, tree.DisplayPath(full), err)
	}
	return data, tree.DisplayPath(full), nil
}

// locate returns the first directory that has a file of that name.
func (f *Files) locate(name string, fits func(SearchDir) bool, what string) (tree Tree, full string, err error) {
	if filepath.IsAbs(name) {
		tree, full, err := Tree{}.Resolve(path.Clean(name), f.openDir)
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
		if !fits(p) || p.Tree.FS == nil {
			continue
		}
		tree, full, err := p.Tree.Resolve(path.Join(p.Dir, name), f.openDir)
		if err != nil {
			return Tree{}, "", fmt.Errorf("reading %s %q of %s: %w", what, name, f.owner, err)
		}
		_, err = fs.Stat(tree.FS, full)
		if err == nil {
			return tree, full, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return Tree{}, "", fmt.Errorf("reading %s %s: %w", what, tree.DisplayPath(full), err)
		}
		tried = append(tried, tree.DisplayPath(full))
	}
	return Tree{}, "", fmt.Errorf("%s has no %s %q; looked for %v", f.owner, what, name, tried)
}
