package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"deployer/strictyaml"
)

// varsDirs are the places that have files of variables. Those of the playbook win
// over those of the inventory for the same kind of name: all, groups, hosts.
type varsDirs struct {
	inventory, playbook *varsFiles
	// late reads those of the playbook, once the names of the inventory are known.
	late func(wanted func(dir, name string) bool) *varsFiles
}

// readVarsDirs reads what is beside the inventory at path, whose directory is dir.
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

// addVarsFiles takes in what was read, and reports files beside the inventory that
// are for nobody. A playbook may serve several inventories: of what is beside it,
// files for groups and hosts of another one are left alone, and not opened.
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
