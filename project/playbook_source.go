package project

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing/fstest"

	"deployer/engine/lang"
	"deployer/roles"
)

// PlaybookSource is a playbook file with the directories in which its roles and files
// are searched.
type PlaybookSource struct {
	Name string // name of its runs
	File string // path in Tree
	Tree lang.Tree
	// Roles are searched for roles in this order, before the built-in roles.
	Roles []lang.Tree

	builtin bool // embedded in deployer, so its errors are not the user's
}

var builtinRoles = lang.Tree{Name: "roles", FS: roles.FS}

// Builtin returns a playbook that is embedded in deployer: install, status or verify.
func Builtin(name string) PlaybookSource {
	return PlaybookSource{Name: name, Tree: builtinRoles, File: "playbooks/" + name + ".yaml", builtin: true}
}

// Inline returns a playbook from its text; name is the name of its runs.
func Inline(text []byte, name string) PlaybookSource {
	return PlaybookSource{Name: name, Tree: lang.Tree{FS: fstest.MapFS{name: {Data: text}}}, File: name}
}

// OpenPlaybook returns a user playbook. Its roles are searched in roles/ beside the
// file, in roles/ beside its directory, in roles/ beside the inventory, and then among
// the built-in roles. A file that does not exist is a *UserError.
func (p *Project) OpenPlaybook(file string) (PlaybookSource, error) {
	if info, err := os.Stat(file); err != nil {
		return PlaybookSource{}, AsUserError(fmt.Errorf("reading the playbook: %w", err))
	} else if info.IsDir() {
		return PlaybookSource{}, AsUserError(fmt.Errorf("%s is a directory; name a playbook in it, such as %s", file, filepath.Join(file, "playbook.yaml")))
	}
	dir := filepath.Dir(file)
	b := PlaybookSource{Name: filepath.Base(file), File: filepath.Base(file), Tree: p.recorder.tree(dir)}
	for _, d := range []string{filepath.Join(dir, "roles"), filepath.Join(dir, "..", "roles"), filepath.Join(p.Inventory.Dir, "roles")} {
		if isDir(d) && !containsDir(b.Roles, d) {
			b.Roles = append(b.Roles, p.recorder.tree(d))
		}
	}
	return b, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// containsDir reports whether one of the trees is the directory, also under another
// path.
func containsDir(trees []lang.Tree, dir string) bool {
	b, err := os.Stat(dir)
	return err == nil && slices.ContainsFunc(trees, func(t lang.Tree) bool {
		a, err := fs.Stat(t.FS, ".")
		return err == nil && os.SameFile(a, b)
	})
}
