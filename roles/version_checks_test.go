package roles_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"deployer/engine/lang"
	"deployer/roles"
)

// TestVersionsAreComparedBeforeTheyChange checks that every playbook that installs
// components in the versions of the inventory compares these with the versions in use
// before. Otherwise it would upgrade or downgrade them without the order of an upgrade.
func TestVersionsAreComparedBeforeTheyChange(t *testing.T) {
	installs := []string{"API server", "controller manager", "scheduler", "kube-proxy", "kubelet", "containerd", "etcd binaries"}
	compares := []string{"preflight_report", "departure_report", "unchanged_versions"}
	files, err := fs.Glob(roles.FS, "playbooks/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checked := []string{}
	for _, file := range files {
		p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, file)
		if err != nil {
			t.Fatal(err)
		}
		compared, registered := "", false
		for _, task := range p.Tasks {
			registered = registered || task.Kind.Name == "component_versions"
			if registered && slices.Contains(compares, task.Kind.Name) {
				compared = task.Name
			}
			manifest := slices.Contains([]string{"template", "yaml_file", "artifact"}, task.Kind.Name)
			if !manifest || !slices.Contains(installs, task.Name) {
				continue
			}
			if compared == "" {
				t.Errorf("%s: %q of role %s precedes a comparison of versions", file, task.Name, task.Role)
				break
			}
			if name := strings.TrimSuffix(path.Base(file), ".yaml"); !slices.Contains(checked, name) {
				checked = append(checked, name)
			}
		}
	}
	for _, name := range []string{"install", "upgrade", "scale-up"} {
		if !slices.Contains(checked, name) {
			t.Errorf("%s installs nothing that this test knows", name)
		}
	}
}
