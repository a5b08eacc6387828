package roles_test

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"deployer/engine/lang"
	"deployer/roles"
	"deployer/tasks/control/preflight"
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

// TestRestoresCompareVersions checks that the playbooks which restore etcd and then install
// compare versions while no API server is installed: the nodes that are left have theirs, and
// a resumed run has removed the manifests of the API servers.
func TestRestoresCompareVersions(t *testing.T) {
	for playbook, id := range map[string]string{"install": "", "etcd-restore-hosts": "20260102-030405", "etcd-readdress": "20260102-030405"} {
		p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, "playbooks/"+playbook+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		vars := map[string]any{"upgrade_run": false, "upgrade_only": []any{}}
		if id != "" {
			vars["etcd_restore_id"] = id
		}
		reports := 0
		for _, task := range p.Tasks {
			if task.Kind.Name != "preflight_report" {
				continue
			}
			args, err := task.BuildArgs(lang.NewVars(vars, nil))
			if err != nil {
				t.Fatalf("%s: %v", playbook, err)
			}
			reports++
			if got := args.(*preflight.Report).InUse; got != (id != "") {
				t.Errorf("%s: versions without an API server are compared: %t", playbook, got)
			}
		}
		if reports == 0 {
			t.Errorf("%s has no preflight", playbook)
		}
	}
}
