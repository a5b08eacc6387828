package roles_test

import (
	"deployer/engine/lang"
	"deployer/inventory"
	"deployer/project"
	"deployer/roles"
	"path/filepath"
	"strings"
	"testing"
)

// TestRolesHaveNoUndefinedNames compiles the playbooks as user playbooks, with the check
// for undefined names.
func TestRolesHaveNoUndefinedNames(t *testing.T) {
	samples, err := filepath.Glob("testdata/inventories/*.yaml")
	if err != nil || len(samples) == 0 {
		t.Fatal("no samples", err)
	}
	for _, sample := range samples {
		s := newSite(t, strings.TrimSuffix(filepath.Base(sample), ".yaml"))
		lib := compiler()
		lib.Match = func(pattern string) ([]string, error) {
			return inventory.Match(pattern, project.ClusterHosts(s.inv, s.cluster), project.ClusterGroups(s.inv, s.cluster))
		}
		lib.RunHosts, lib.Vars = project.ClusterHosts(s.inv, s.cluster), s.vars.ForHost
		for _, book := range []string{"install", "status"} {
			if _, err := lib.Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/"+book+".yaml"); err != nil {
				t.Errorf("%s of %s: %v", book, sample, err)
			}
		}
	}
}
