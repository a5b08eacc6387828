package project

import (
	"fmt"
	"io/fs"
	"slices"

	"deployer/ansible"
	"deployer/engine"
	"deployer/engine/playbook"
	"deployer/tasks"
	"deployer/tasks/control"
	"deployer/templates"
)

// Selection says what of a playbook is carried out, and with which variables; the
// zero value is all of it, with those that stand in it.
type Selection struct {
	Tags, SkipTags []string // only tasks with one of these, none with one of those
	StartAt        string   // leaves out what comes before the task of this name
	// Vars are the variables that a host has before the run, and Extra those that
	// win over all others; see playbook.Library.
	Vars  func(host string) map[string]any
	Extra map[string]any
	// Hosts are those of the run. Variables that one of them looks at in any case
	// and that nobody gives a value are found; nil leaves them to the run. Given
	// are variables that will have a value, though nobody says yet which.
	Hosts, Given []string
	// Step has hosts go through the tasks together, so that somebody can be asked
	// before each.
	Step bool
}

// Compile finds everything that is wrong with a playbook without the network. The
// registry has the kinds of task that it may use: those of clusters only with a
// cluster.
func (p *Project) Compile(b Book, of Selection) (*playbook.Program, engine.Registry, error) {
	registry := engine.NewRegistry(tasks.Modules(), control.General())
	if p.Cluster != nil {
		registry = engine.NewRegistry(tasks.Modules(), control.General(), control.Actions())
	}
	library := playbook.Compiler{
		Registry:  registry,
		Renamed:   ansible.ModuleNames(),
		Roles:     append(slices.Clip(b.Roles), ownRoles),
		Templates: playbook.Tree{Name: "templates", FS: templates.FS},
		Match:     p.Match,
		Hosts:     p.Inventory.Names(),
		Decrypt:   p.Open,
		Outside:   func(dir string) fs.FS { return p.witness.tree(dir).FS },
		Tags:      of.Tags,
		SkipTags:  of.SkipTags,
		StartAt:   of.StartAt,
		Step:      of.Step,
		Vars:      of.Vars,
		Extra:     of.Extra,
	}
	if !b.own { // that of our own is known to be right, and they get variables later
		library.RunHosts, library.Promised = of.Hosts, of.Given
	}
	program, err := library.Compile(b.Tree, b.File)
	switch {
	case err != nil && b.own:
		return nil, nil, fmt.Errorf("deployer's own playbook %s does not compile: %w", b.File, err)
	case err != nil:
		return nil, nil, Mistaken(err)
	}
	program.Name = b.Name
	return program, registry, nil
}
