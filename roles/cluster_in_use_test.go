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

// TestClusterInUseIsComparedBeforeItChanges checks that every playbook that writes BGP
// sessions, authorities, encryption keys or components compares the cluster in use with the
// inventory before: a run by an inventory that has lost a host would cut it off.
func TestClusterInUseIsComparedBeforeItChanges(t *testing.T) {
	compares := []string{"preflight_report", "departure_report", "unchanged_cluster"}
	changes := []string{"artifact", "template", "yaml_file", "ca_files", "certificate", "kube_node"}
	// These playbooks change nothing of the cluster's shape: they save, show, restore or remove.
	exempt := []string{"diagnose", "etcd-backup", "etcd-backup-offline", "etcd-restore", "reset", "start"}
	files, err := fs.Glob(roles.FS, "playbooks/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var checked []string
	for _, file := range files {
		p, err := compiler().Compile(lang.Tree{Name: "roles", FS: roles.FS}, file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(path.Base(file), ".yaml")
		read, compared := false, false
		for _, task := range p.Tasks {
			read = read || task.Kind.Name == "running_settings"
			compared = compared || read && slices.Contains(compares, task.Kind.Name)
			if !slices.Contains(changes, task.Kind.Name) {
				continue
			}
			checked = append(checked, name)
			if !compared && !slices.Contains(exempt, name) {
				t.Errorf("%s: %q of role %s precedes a comparison of the cluster in use", name, task.Name, task.Role)
				break
			}
		}
	}
	for _, name := range []string{"install", "upgrade", "scale-up", "scale-down", "certs-rotate-ca", "certs-rotate-encryption-key"} {
		if !slices.Contains(checked, name) {
			t.Errorf("%s changes nothing that this test knows", name)
		}
	}
}
