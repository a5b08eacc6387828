package roles_test

import (
	"io/fs"
	"regexp"
	"slices"
	"testing"

	"deployer/roles"
)

// runCondition is a condition that reads the variable run.
var runCondition = regexp.MustCompile(`(?m)^\s*(- )?when:.*\brun\.`)

// TestConditionsReadNoRun: a plan has a step whose condition reads the variable run as one with
// unknown effects, so that apply would never find the cluster as the inventory describes it. Only
// steps of verbs that always have something to do read it.
func TestConditionsReadNoRun(t *testing.T) {
	allowed := []string{"etcd-snapshot-keys/tasks/main.yaml", "etcd-snapshot-fetch/tasks/main.yaml", "playbooks/etcd-readdress-snapshot.yaml"}
	seen := 0
	err := fs.WalkDir(roles.FS, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(roles.FS, path)
		if err != nil || !runCondition.Match(data) {
			return err
		}
		if seen++; !slices.Contains(allowed, path) {
			t.Errorf("%s has a condition with the variable run", path)
		}
		return nil
	})
	if err != nil || seen != len(allowed) {
		t.Errorf("%d files have such conditions, want %d: %v", seen, len(allowed), err)
	}
}
