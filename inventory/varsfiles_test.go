package inventory

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const withGroups = `hosts:
  m1: {address: 192.0.2.1}
  n[1:2]: {address: "192.0.2.[11:12]", vars: {color: inline, own: inline}}
groups:
  rack: {hosts: ["n[1:2]"], vars: {mtu: 1500, color: rack}}
roles: {master: m1, minion: "n[1:2]"}
vars: {color: all, mtu: 9000, zone: a}
`

func site(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["inventory.yaml"] = withGroups
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "inventory.yaml")
}

// open is a cipher for tests: it removes the prefix "sealed ".
func open(_ string, data []byte) ([]byte, error) {
	plain, ok := bytes.CutPrefix(data, []byte("sealed "))
	if !ok {
		return nil, errors.New("not sealed")
	}
	return plain, nil
}

// TestVarsFiles checks the precedence: each file is over the same level of the
// inventory, and under the levels above.
func TestVarsFiles(t *testing.T) {
	t.Parallel()
	path := site(t, map[string]string{
		"group_vars/all.yaml":           "zone: b\nextra: all file\n",
		"group_vars/minion.yml":         "extra: role file\n",
		"group_vars/rack/10-net.yaml":   "mtu: 1400\n",
		"group_vars/rack/20-net.yaml":   "vlan: 7\n",
		"group_vars/rack/README.md":     "not: read\n",
		"group_vars/rack/README":        "The files of the rack.\n",
		"group_vars/README":             "not: read\n",
		"group_vars/rack.yaml.age":      "sealed vault: k3y\n",
		"group_vars/master.yaml.age":    "sealed password: hunter2\npin: 123456\nnested: {on: true, list: [s3cret]}\n",
		"host_vars/n2.yaml":             "own: host file\n",
		"group_vars/.rack.yaml.swp":     "x",
		"host_vars/m1/sealed.yaml.age":  "sealed token: t0ken\n",
		"group_vars/rack/30-empty.yaml": "",
	})
	inv, err := Load(path, Options{Open: open})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]map[string]any{
		"m1": {"color": "all", "mtu": 9000, "zone": "b", "extra": "all file", "password": "hunter2", "pin": 123456, "token": "t0ken",
			"nested": map[string]any{"on": true, "list": []any{"s3cret"}}},
		"n1": {"color": "inline", "own": "inline", "mtu": 1400, "vlan": 7, "zone": "b", "extra": "role file", "vault": "k3y"},
		"n2": {"color": "inline", "own": "host file", "mtu": 1400, "vlan": 7, "zone": "b", "extra": "role file", "vault": "k3y"},
	} {
		h, _ := inv.Host(host)
		if diff := cmp.Diff(want, h.Vars); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
	if diff := cmp.Diff([]string{"123456", "hunter2", "k3y", "s3cret", "t0ken"}, inv.Secrets()); diff != "" {
		t.Error(diff)
	}
	for _, o := range inv.Origins("n2") {
		if o.Key == "vars.own" && !strings.HasSuffix(o.Pos.String(), "host_vars/n2.yaml:1:6") {
			t.Errorf("own comes from %s (%s)", o.Layer, o.Pos)
		}
		if o.Key == "vars.password" {
			t.Errorf("n2 has the masters' password")
		}
	}
	for _, o := range inv.Origins("m1") {
		if o.Key == "vars.password" && o.Value != "(secret)" {
			t.Errorf("the password is shown: %v", o.Value)
		}
	}
}

func TestVarsFilesErrors(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct{ text, want string }{
		"group_vars/rak.yaml":      {"a: 1", `group_vars/rak.yaml: there is no group or role "rak"; did you mean "rack"?`},
		"host_vars/n3.yaml":        {"a: 1", `host_vars/n3.yaml: there is no host "n3"`},
		"group_vars/all.yaml":      {"- a", `group_vars/all.yaml:1:1: want a mapping`},
		"group_vars/rack.yaml":     {"a: 1\na: 2", `group_vars/rack.yaml:2:1`},
		"group_vars/all.yaml.age":  {"a: 1", `not sealed`},
		"host_vars/n1.yaml":        {"a: [", `host_vars/n1.yaml:`},
		"host_vars/n2.yaml":        {"a: !env NOT_SET_ANYWHERE", `host_vars/n2.yaml:1:4: environment variable "NOT_SET_ANYWHERE" is not set`},
		"group_vars/minion/x.yaml": {"a: 1\n b: 2", `group_vars/minion/x.yaml:`},
	} {
		if _, err := Load(site(t, map[string]string{file: c.text}), Options{Open: open}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", file, err, c.want)
		}
	}
	if _, err := Load(site(t, map[string]string{"group_vars/all.yaml.age": "sealed a: 1"}), Options{}); err == nil || !strings.Contains(err.Error(), "is encrypted") {
		t.Errorf("error %v", err)
	}
}

// TestVarsFilesThatAnsibleReadsOtherwise: a directory that comes from Ansible has no file
// that is read here and not there, or the other way round.
func TestVarsFilesThatAnsibleReadsOtherwise(t *testing.T) {
	t.Parallel()
	for want, files := range map[string][]string{
		"all has its variables in ROOT/group_vars/all and ROOT/group_vars/all.yaml, of which Ansible reads ROOT/group_vars/all only": {"group_vars/all/x.yaml", "group_vars/all.yaml"},
		"rack has its variables in ROOT/group_vars/rack.yml and ROOT/group_vars/rack.yaml, of which Ansible reads":                   {"group_vars/rack.yml", "group_vars/rack.yaml"},
		"ROOT/group_vars/rack would not be read: rename it to ROOT/group_vars/rack.yaml":                                             {"group_vars/rack"},
		"ROOT/host_vars/n1.json would not be read: rename it to ROOT/host_vars/n1.yaml":                                              {"host_vars/n1.json"},
		"ROOT/group_vars/all/vault would not be read: rename it to ROOT/group_vars/all/vault.yaml":                                   {"group_vars/all/vault"},
		"ROOT/group_vars/all/deep would not be read: move its files into ROOT/group_vars/all":                                        {"group_vars/all/deep/x.yaml"},
	} {
		with := map[string]string{}
		for _, file := range files {
			with[file] = "a: 1\n"
		}
		path := site(t, with)
		want = strings.ReplaceAll(want, "ROOT", filepath.Dir(path))
		if _, err := Load(path, Options{Open: open}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", files, err, want)
		}
	}
}
