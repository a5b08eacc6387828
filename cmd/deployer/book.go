package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"deployer/engine"
	"deployer/engine/playbook"
	"deployer/inventory"
	"deployer/roles"
	"deployer/tasks"
	"deployer/tasks/control"
	"deployer/templates"
)

// book is a playbook and where it finds what it names.
type book struct {
	name  string // of the run
	tree  playbook.Tree
	file  string          // in tree
	roles []playbook.Tree // before deployer's own
	own   bool            // it is deployer's own, so that a mistake in it is not the user's
}

var ownRoles = playbook.Tree{Name: "roles", FS: roles.FS}

// ownBook is one of deployer's playbooks.
func ownBook(verb, name string) book {
	return book{name: verb, tree: ownRoles, file: "playbooks/" + name + ".yaml", own: true}
}

// userBook is a playbook of the user's own. Roles are looked for in roles/ beside
// it, then beside its directory (playbooks/ has roles/ as its neighbour), then
// beside the inventory, then among deployer's own.
func userBook(file string, inv *inventory.Inventory, w *witness) (book, error) {
	if info, err := os.Stat(file); err != nil {
		return book{}, usageError(fmt.Errorf("reading the playbook: %w", err))
	} else if info.IsDir() {
		return book{}, usageError(fmt.Errorf("%s is a directory; name a playbook in it, such as %s", file, filepath.Join(file, "playbook.yaml")))
	}
	dir := filepath.Dir(file)
	b := book{name: filepath.Base(file), tree: w.tree(dir), file: filepath.Base(file)}
	for _, d := range []string{filepath.Join(dir, "roles"), filepath.Join(dir, "..", "roles"), filepath.Join(inv.Dir, "roles")} {
		if tree := w.tree(d); isDir(d) && !sameAsAny(b.roles, d) {
			b.roles = append(b.roles, tree)
		}
	}
	return b, nil
}

// shownDir leaves out the working directory: messages show paths as typed.
func shownDir(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
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

// compile finds everything that is wrong with a playbook without the network.
func (b book) compile(p *project, o runOptions) (*playbook.Program, engine.Registry, error) {
	registry := engine.NewRegistry(tasks.Modules(), control.General())
	if p.cluster != nil {
		registry = engine.NewRegistry(tasks.Modules(), control.General(), control.Actions())
	}
	library := playbook.Library{
		Registry:  registry,
		Renamed:   tasks.Renamed(),
		Roles:     append(b.roles, ownRoles),
		Templates: playbook.Tree{Name: "templates", FS: templates.FS},
		Match:     p.match,
		Hosts:     p.inv.Names(),
		Decrypt:   ownKeys().Open,
		Outside:   func(dir string) fs.FS { return p.witness.tree(dir).FS },
		Tags:      o.tags,
		SkipTags:  o.skipTags,
		StartAt:   o.startAt,
		Step:      o.step,
	}
	program, err := library.Compile(b.tree, b.file)
	switch {
	case err != nil && b.own:
		return nil, nil, fmt.Errorf("deployer's own playbook %s does not compile: %w", b.file, err)
	case err != nil:
		return nil, nil, usageError(err)
	}
	program.Name = b.name
	return program, registry, nil
}
