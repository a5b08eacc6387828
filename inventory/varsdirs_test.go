package inventory

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestVarsBesideThePlaybook checks each step of the precedence: a variable is
// given at one level and all below, so that it must have the value of that level.
func TestVarsBesideThePlaybook(t *testing.T) {
	t.Parallel()
	levels := []string{"group_vars/all.yaml", "site/group_vars/all.yaml", "group_vars/minion.yaml", "group_vars/rack.yaml",
		"site/group_vars/minion.yaml", "site/group_vars/rack.yaml", "host_vars/n1.yaml", "site/host_vars/n1.yaml"}
	files, want := map[string]string{}, map[string]any{}
	for i, file := range levels {
		for j := i; j < len(levels); j++ {
			files[file] += "v" + string(rune('0'+j)) + ": " + file + "\n"
		}
		want["v"+string(rune('0'+i))] = file
	}
	path := site(t, files)
	inv, err := Load(path, Options{Playbook: filepath.Join(filepath.Dir(path), "site")})
	if err != nil {
		t.Fatal(err)
	}
	h, _ := inv.Host("n1")
	got := map[string]any{}
	for name, value := range h.Vars {
		if strings.HasPrefix(name, "v") {
			got[name] = value
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, o := range inv.Origins("n1") {
		if o.Key == "vars.v5" && !strings.HasSuffix(o.Pos.String(), "site/group_vars/rack.yaml:1:5") {
			t.Errorf("v5 comes from %s", o.Pos)
		}
	}
}

func TestPlaybookOfSeveralInventories(t *testing.T) {
	t.Parallel()
	path := site(t, map[string]string{
		"site/group_vars/staging.yaml.age": "of another inventory, and not to be opened",
		"site/host_vars/s1/broken.yaml":    "a: [",
		"site/group_vars/rack.yaml.age":    "sealed pin: hunter2",
	})
	inv, err := Load(path, Options{Open: open, Playbook: filepath.Join(filepath.Dir(path), "site")})
	if err != nil {
		t.Fatal(err)
	}
	if h, _ := inv.Host("n1"); h.Vars["pin"] != "hunter2" || !slices.Contains(inv.Secrets(), "hunter2") {
		t.Errorf("%v, secrets %v", h.Vars, inv.Secrets())
	}
	if h, _ := inv.Host("m1"); h.Vars["pin"] != nil {
		t.Error("m1 is not in the rack")
	}
	bad := site(t, map[string]string{"site/group_vars/rack.yaml": "a: [", "site/host_vars/n1.yaml": "- a"})
	_, err = Load(bad, Options{Playbook: filepath.Join(filepath.Dir(bad), "site")})
	if err == nil || !strings.Contains(err.Error(), "group_vars/rack.yaml:") || !strings.Contains(err.Error(), "host_vars/n1.yaml:1:1: want a mapping") {
		t.Error(err)
	}
}

// TestPlaybookBesideTheInventory: a directory that is both the playbook's and the
// inventory's, by another name too, is read once.
func TestPlaybookBesideTheInventory(t *testing.T) {
	t.Parallel()
	path := site(t, map[string]string{"group_vars/all.yaml": "zone: b"})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{filepath.Dir(path), link} {
		read := 0
		_, err := Load(path, Options{Playbook: dir, Read: func(name string) ([]byte, error) {
			if strings.HasSuffix(name, "all.yaml") {
				read++
			}
			return os.ReadFile(name)
		}})
		if err != nil || read != 1 {
			t.Errorf("%s: read %d times, error %v", dir, read, err)
		}
	}
}
