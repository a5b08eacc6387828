package roles_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"deployer/roles"
)

// TestRemovedFilesAreSecretUnlessTheyAreKnown requires that a step which removes files is
// secret, so that the backups of keys expire and deployer runs purge finds them, unless the
// files are known to have no credential.
func TestRemovedFilesAreSecretUnlessTheyAreKnown(t *testing.T) {
	known := []string{
		"/etc/deployer/{{ etcd_target.name }}-member",
		"/etc/deployer/etcd-restore-unfinished",
		"/var/lib/deployer/etcd-restore/{{ etcd_restore_id }}.bump",
		"/etc/kubernetes/manifests/kube-apiserver.yaml",
		"/etc/cni/net.d/10-deployer.conflist",
		"/etc/cni/net.d/10-calico.conflist",
		"/etc/deployer/former-network-plugin",
		"/usr/local/bin/deployer-keeper",
		"/usr/local/bin/deployer-agent",
		"/var/lib/deployer/keeper-actions.jsonl",
		"/var/lib/deployer/keeper-actions.jsonl.1",
		"/var/lib/deployer/node-certificates-failed",
		"/var/lib/deployer/reboot.json",
		"/var/lib/deployer/reboot.json.lock",
		"{{ node_work.state_files }}", // the states of the kubelet's managers of CPUs and memory
	}
	steps := 0
	var walk func(file string, node any)
	walk = func(file string, node any) {
		switch node := node.(type) {
		case []any:
			for _, n := range node {
				walk(file, n)
			}
		case map[string]any:
			for key, n := range node {
				walk(file, n)
				args, isTask := n.(map[string]any)
				if key != "absent" || !isTask {
					continue
				}
				steps++
				paths, ok := args["paths"].([]any)
				if !ok {
					paths = []any{args["paths"]}
				}
				for _, p := range paths {
					if args["secret"] != true && !slices.Contains(known, fmt.Sprint(p)) {
						t.Errorf("%s: task %q removes %v and is not secret", file, node["name"], p)
					}
				}
			}
		}
	}
	err := fs.WalkDir(roles.FS, ".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(file, ".yaml") {
			return err
		}
		text, err := fs.ReadFile(roles.FS, file)
		if err != nil {
			return err
		}
		var tasks any
		if err := yaml.Unmarshal(text, &tasks); err == nil { // the file may be a template
			walk(file, tasks)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if steps < 9 {
		t.Errorf("only %d steps that remove files were found", steps)
	}
}
