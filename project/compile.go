package project

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"deployer/ansible"
	"deployer/engine"
	"deployer/engine/compile"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/tasks"
	"deployer/tasks/control"
	"deployer/templates"
)

// Selection limits a run to some tasks of a playbook and gives it variables. The zero
// value selects all tasks and adds no variables.
type Selection struct {
	Tags, SkipTags []string // tasks must have one of Tags and none of SkipTags
	StartAt        string   // name of the first task
	// Vars returns the variables that a host has before the run. Extra override all
	// others.
	Vars  func(host string) map[string]any
	Extra map[string]any
	// Hosts are the hosts of the run: a variable that a task certainly reads on one of
	// them and that is undefined there is an error of Compile. With nil Hosts such
	// variables are errors of the run. Promised are the names of variables that get
	// their values later.
	Hosts, Promised []string
	// Step makes all hosts wait for each other before each task, so that the user can
	// confirm it.
	Step bool
}

// Compile compiles a playbook and reports all errors that can be found without the
// network; errors of user playbooks are *UserError. The registry has the kinds that the
// playbook may use: those for clusters only when the project has a cluster.
func (p *Project) Compile(b PlaybookSource, of Selection) (*program.Program, engine.Registry, error) {
	registry := engine.NewRegistry(tasks.Modules(), control.General())
	if p.Cluster != nil {
		registry = engine.NewRegistry(tasks.Modules(), control.General(), control.Actions())
	}
	var secrets []string // of files of variables
	compiler := compile.Compiler{
		Registry:  registry,
		Renamed:   ansible.ModuleNames(),
		Roles:     append(slices.Clip(b.Roles), builtinRoles),
		Templates: lang.Tree{Name: "templates", FS: templates.FS},
		Match:     p.Match,
		Hosts:     p.Inventory.Names(),
		Decrypt:   p.Open,
		LookupEnv: p.LookupEnv,
		Lookups:   p.Lookups,
		Learn:     func(more ...string) { secrets = append(secrets, more...) },
		Disk:      p.recorder.files.tree,
		Outside:   func(dir string) fs.FS { return p.recorder.tree(dir).FS },
		Tags:      of.Tags,
		SkipTags:  of.SkipTags,
		StartAt:   of.StartAt,
		Step:      of.Step,
		Vars:      of.Vars,
		Extra:     of.Extra,
	}
	if !b.builtin { // built-in playbooks are tested, and some of their variables are set later
		compiler.RunHosts, compiler.Promised = of.Hosts, of.Promised
	}
	program, err := compiler.Compile(b.Tree, b.File)
	switch {
	case err != nil && b.builtin:
		return nil, nil, fmt.Errorf("compiling the built-in playbook %s: %w", b.File, err)
	case err != nil:
		return nil, nil, p.hideSecrets(AsUserError(adviseConvert(b, err)), secrets...)
	}
	program.Name = b.Name
	return program, registry, nil
}

// adviseConvert puts what to do before the errors of a playbook with words of Ansible.
func adviseConvert(b PlaybookSource, err error) error {
	var words *compile.WordsOfAnsible
	if !errors.As(err, &words) {
		return err
	}
	shown, rest := words.Words, ""
	if len(shown) > 4 {
		shown, rest = shown[:4], ", ..."
	}
	return fmt.Errorf("%s has words of Ansible (%s%s): `deployer convert SOURCE -o COPY` translates playbooks and roles that were written for it\n%w",
		b.Tree.DisplayPath(b.File), strings.Join(shown, ", "), rest, err)
}
