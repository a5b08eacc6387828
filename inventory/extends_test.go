package inventory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writeFiles writes files below a new repository and returns its directory.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files[".git"] = ""
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestExtends(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"shared/base.yaml": `
cluster: {kubernetes: v1.36.3, kubelet: {max_pods: 110, eviction: hard}, dns: {servers: [a, b]}}
ssh: {user: ops, key: keys/id}
vars: {zone: none, token: !secret hidden}
`,
		"shared/network.yaml": "extends: base.yaml\ncluster: {kubelet: {eviction: soft}, dns: {servers: [c]}}\n",
		"a/inventory.yaml": `
extends: [../shared/network.yaml]
cluster: {name: a, kubelet: {max_pods: 50}, dns: }
vars: {zone: east}
hosts: {m1: {address: 10.0.0.1}}
roles: {master: m1}
`,
	})
	read := []string{}
	inv, err := Load(filepath.Join(dir, "a/inventory.yaml"), Options{Read: func(path string) ([]byte, error) {
		read = append(read, filepath.Base(path))
		return os.ReadFile(path)
	}})
	if err != nil {
		t.Fatal(err)
	}
	var cluster map[string]any
	if err := inv.Cluster.Decode(&cluster); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"name": "a", "kubernetes": "v1.36.3", "kubelet": map[string]any{"max_pods": 50, "eviction": "soft"}, "dns": nil}
	if diff := cmp.Diff(want, cluster); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"inventory.yaml", "network.yaml", "base.yaml"}, read); diff != "" {
		t.Errorf("files read through Options.Read: %s", diff)
	}
	if diff := cmp.Diff([]string{"hidden"}, inv.Secrets()); diff != "" {
		t.Error(diff)
	}
	h, _ := inv.Host("m1")
	if h.Vars["zone"] != "east" || h.SSH.User != "ops" || h.SSH.Key != filepath.Join(dir, "a/keys/id") {
		t.Errorf("vars %v, ssh %+v", h.Vars, h.SSH)
	}
	for _, o := range inv.Origins("m1") {
		if o.Key == "ssh.user" && o.Pos.File != filepath.Join(dir, "shared/base.yaml") {
			t.Errorf("ssh.user is of %s", o.Pos)
		}
		if o.Key == "vars.zone" && o.Pos.File != filepath.Join(dir, "a/inventory.yaml") {
			t.Errorf("vars.zone is of %s", o.Pos)
		}
	}
}

func TestExtendsErrors(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "x.yaml"), []byte("forks: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files map[string]string
		link  string // to a file outside of the repository
		want  string
	}{
		"missing":     {map[string]string{"i.yaml": "extends: [none.yaml]\nhosts: {a: }\n"}, "", "i.yaml:1:11: extends: there is no file DIR/none.yaml"},
		"absolute":    {map[string]string{"i.yaml": "hosts: {a: }\nextends: /etc/x.yaml\n"}, "", "i.yaml:2:10: extends: /etc/x.yaml is an absolute path"},
		"outside":     {map[string]string{"i.yaml": "extends: ../x.yaml\nhosts: {a: }\n"}, "", "i.yaml:1:10: extends: ../x.yaml: the path leads out of the repository"},
		"link":        {map[string]string{"i.yaml": "extends: l.yaml\nhosts: {a: }\n"}, "l.yaml", "i.yaml:1:10: extends: l.yaml: the path leads out of the repository"},
		"cycle":       {map[string]string{"i.yaml": "extends: b.yaml\nhosts: {a: }\n", "b.yaml": "vars: {}\nextends: i.yaml\n"}, "", "b.yaml:2:10: extends: the files extend each other: DIR/i.yaml -> DIR/b.yaml -> DIR/i.yaml"},
		"itself":      {map[string]string{"i.yaml": "extends: i.yaml\nhosts: {a: }\n"}, "", "i.yaml:1:10: extends: the files extend each other: DIR/i.yaml -> DIR/i.yaml"},
		"mapping":     {map[string]string{"i.yaml": "extends: {a: b}\nhosts: {a: }\n"}, "", "i.yaml:1:10: want a path or a list of paths, got a mapping"},
		"list":        {map[string]string{"i.yaml": "extends: b.yaml\nhosts: {a: }\n", "b.yaml": "- x\n"}, "", "i.yaml:1:10: extends: DIR/b.yaml has no mapping of sections"},
		"not YAML":    {map[string]string{"i.yaml": "extends: b.yaml\nhosts: {a: }\n", "b.yaml": "a: [\n"}, "", "b.yaml:1: not YAML"},
		"unknown key": {map[string]string{"i.yaml": "extends: b.yaml\nhosts: {a: }\n", "b.yaml": "forks: 2\nvras: {}\n"}, "", `b.yaml:2:1: unknown key "vras"; did you mean "vars"?`},
		"wrong type":  {map[string]string{"i.yaml": "extends: b.yaml\nhosts: {a: }\n", "b.yaml": "\nforks: many\n"}, "", "b.yaml:2:8: forks: want a whole number"},
		"key twice":   {map[string]string{"i.yaml": "extends: b.yaml\nhosts: {a: }\n", "b.yaml": "forks: 1\nforks: 2\n"}, "", `b.yaml:2:1: key "forks" is given twice`},
		"unknown host in a role": {map[string]string{"i.yaml": "extends: b.yaml\nhosts: {a: }\n", "b.yaml": "roles:\n  master: [m1]\n"}, "",
			"b.yaml:2:12: role master: there is no host"},
		"own secret": {map[string]string{"i.yaml": "extends: b.yaml\nhosts: {a: }\n", "b.yaml": "vars: {a: !env NOT_SET_HERE}\n"}, "", "b.yaml:1:11: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeFiles(t, c.files)
			if c.link != "" {
				if err := os.Symlink(filepath.Join(outside, "x.yaml"), filepath.Join(dir, c.link)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Load(filepath.Join(dir, "i.yaml"), Options{})
			if err == nil {
				t.Fatal("no error")
			}
			if want := dir + "/" + strings.ReplaceAll(c.want, "DIR", dir); !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestExtendsMoreFilesThanAllowed(t *testing.T) {
	files := map[string]string{"i.yaml": "extends: [l0.yaml, l0.yaml]\nhosts: {a: }\n", "l9.yaml": "forks: 1\n"}
	for i := range 9 {
		next := string(rune('1' + i))
		files["l"+string(rune('0'+i))+".yaml"] = "extends: [l" + next + ".yaml, l" + next + ".yaml]\n"
	}
	_, err := Load(filepath.Join(writeFiles(t, files), "i.yaml"), Options{})
	if err == nil || !strings.Contains(err.Error(), "extends more than 100 files") {
		t.Errorf("got %v", err)
	}
}
