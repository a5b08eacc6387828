package compile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"deployer/engine/graph"
	"deployer/engine/lang"
	"deployer/strictyaml"
)

// acyclicRole reports whether the dependencies of a role end, and records an error when
// they do not.
func (c *compiler) acyclicRole(u roleUse) bool {
	g := graph.New[string]()
	seen := map[string]bool{}
	var follow func(roleUse) bool
	follow = func(u roleUse) bool {
		if seen[u.name] {
			return true
		}
		seen[u.name] = true
		g.Add(u.name)
		r := c.role(u.name, u.pos)
		if r == nil {
			return false
		}
		for _, dep := range r.uses {
			g.AddEdge(dep.name, u.name)
			if !follow(dep) {
				return false
			}
		}
		return true
	}
	if !follow(u) {
		return false
	}
	if cycle := g.Cycle(); cycle != nil {
		c.fail(u.pos.Errorf("roles depend on each other in a circle: %s", strings.Join(append(cycle, cycle[0]), " -> ")))
		return false
	}
	return true
}

// findRole returns the first tree of roles with a directory of that name or path.
func (c *compiler) findRole(name string) (lang.Tree, bool) {
	if !fs.ValidPath(name) || strings.Contains("/"+name, "/.") {
		return lang.Tree{}, false
	}
	for _, t := range c.lib.Roles {
		if info, err := fs.Stat(t.FS, name); err == nil && info.IsDir() {
			return t, true
		}
	}
	return lang.Tree{}, false
}

func (c *compiler) roleNames() []string {
	var out []string
	for _, t := range c.lib.Roles {
		entries, err := fs.ReadDir(t.FS, ".")
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.IsDir() {
				out = append(out, e.Name())
			}
		}
	}
	return out
}

// roleFile loads main.yaml or main.yml of a folder of the role; nil when the role has none.
func (c *compiler) roleFile(r *role, folder string) *lang.Document {
	for _, ext := range []string{".yaml", ".yml"} {
		file := path.Join(r.name, folder, "main"+ext)
		_, err := fs.Stat(r.tree.FS, file)
		if err == nil {
			return c.load(r.tree, file, strictyaml.Pos{}).WithFiles(r.files)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			c.fail(fmt.Errorf("reading %s: %w", r.tree.DisplayPath(file), err))
			c.lostFile()
		}
	}
	return nil
}
