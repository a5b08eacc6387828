package project

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing/fstest"

	"deployer/engine/playbook"
	"deployer/roles"
)

// Book is a playbook and where it finds what it names.
type Book struct {
	Name string // of its runs
	File string // in Tree
	Tree playbook.Tree
	// Roles are where roles are looked for, before deployer's own.
	Roles []playbook.Tree

	own bool // it is deployer's own, so that a mistake in it is not the user's
}

var ownRoles = playbook.Tree{Name: "roles", FS: roles.FS}

// OwnBook is one of deployer's playbooks: install, status, verify.
func OwnBook(name string) Book {
	return Book{Name: name, Tree: ownRoles, File: "playbooks/" + name + ".yaml", own: true}
}

// TextBook is a playbook that stands in no file; as is the name of its runs.
func TextBook(text []byte, as string) Book {
	return Book{Name: as, Tree: playbook.Tree{FS: fstest.MapFS{as: {Data: text}}}, File: as}
}

// Book is a playbook of the user's own. Roles are looked for in roles/ beside it,
// then beside its directory (playbooks/ has roles/ as its neighbour), then beside
// the inventory, then among deployer's own.
func (p *Project) Book(file string) (Book, error) {
	if info, err := os.Stat(file); err != nil {
		return Book{}, Mistaken(fmt.Errorf("reading the playbook: %w", err))
	} else if info.IsDir() {
		return Book{}, Mistaken(fmt.Errorf("%s is a directory; name a playbook in it, such as %s", file, filepath.Join(file, "playbook.yaml")))
	}
	dir := filepath.Dir(file)
	b := Book{Name: filepath.Base(file), File: filepath.Base(file), Tree: p.witness.tree(dir)}
	for _, d := range []string{filepath.Join(dir, "roles"), filepath.Join(dir, "..", "roles"), filepath.Join(p.Inventory.Dir, "roles")} {
		if isDir(d) && !sameAsAny(b.Roles, d) {
			b.Roles = append(b.Roles, p.witness.tree(d))
		}
	}
	return b, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// sameAsAny tells whether a directory is among the trees, maybe under another
// name: the inventory may stand beside the playbook.
func sameAsAny(trees []playbook.Tree, dir string) bool {
	b, err := os.Stat(dir)
	return err == nil && slices.ContainsFunc(trees, func(t playbook.Tree) bool {
		a, err := fs.Stat(t.FS, ".")
		return err == nil && os.SameFile(a, b)
	})
}
