package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"deployer/strictyaml"
)

// varsDirs are the directories with files of variables. For the same kind of name (all,
// groups, hosts) those of the playbook win over those of the inventory.
type varsDirs struct {
	inventory, playbook *varsFiles
	// late reads the files beside the playbook, when the names of the inventory are known.
	late func(wanted func(dir, name string) bool) *varsFiles
}

// readVarsDirs reads the files beside the inventory at path, whose directory is dir.
func readVarsDirs(dir, path string, o Options) *varsDirs {
	d := &varsDirs{inventory: (&varsFiles{}).read(dir, filepath.Dir(path), o)}
	if o.Playbook != "" && !sameDir(o.Playbook, dir) {
		d.late = func(wanted func(dir, name string) bool) *varsFiles {
			return (&varsFiles{wanted: wanted}).read(o.Playbook, o.Playbook, o)
		}
	}
	return d
}

func sameDir(one, other string) bool {
	a, err := os.Stat(one)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && os.SameFile(a, b)
}

// addVarsFiles adds the variables, and reports files beside the inventory without a
// group or host. A playbook may serve several inventories: files beside it for unknown
// names are skipped and not opened.
func (b *builder) addVarsFiles() {
	if b.vars == nil {
		b.vars = &varsDirs{inventory: &varsFiles{}}
	}
	groups := append([]string{"all"}, append(RoleNames(), b.file.Groups.Keys()...)...)
	known := map[string][]string{groupVars: groups, hostVars: b.inv.Names()}
	b.vars.playbook = &varsFiles{}
	if b.vars.late != nil {
		b.vars.playbook = b.vars.late(func(dir, name string) bool { return slices.Contains(known[dir], name) })
	}
	for _, files := range []*varsFiles{b.vars.inventory, b.vars.playbook} {
		files.checkUnread(known)
		b.errs = append(b.errs, files.errs...)
		b.inv.secrets = append(b.inv.secrets, files.secrets...)
	}
	slices.Sort(b.inv.secrets)
	b.inv.secrets = slices.Compact(b.inv.secrets)
	b.forSomebody(b.vars.inventory.groups, groups, "group or role")
	b.forSomebody(b.vars.inventory.hosts, b.inv.Names(), "host")
}

func (b *builder) forSomebody(files map[string][]layer, known []string, what string) {
	for name, layers := range files {
		if !slices.Contains(known, name) {
			b.errs = append(b.errs, fmt.Errorf("%s: there is no %s %q%s", layers[0].file, what, name, strictyaml.DidYouMean(name, known)))
		}
	}
}
