package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/transport/ssh"
	"deployer/project"
)

// load loads an inventory with a client configuration of OpenSSH beside it.
func load(t *testing.T, text, config string) *project.Project {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"inventory.yaml": text, "ssh_config": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", "/home/u")
	t.Setenv("XDG_CACHE_HOME", dir)
	p, err := project.Load(filepath.Join(dir, "inventory.yaml"), project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const reachInventory = `
ssh: {config: ssh_config, key: /id, connect_timeout: 5s}
hosts:
  m1: {address: 10.0.0.1}
  m2: {address: 10.0.0.2, ssh: {user: me, port: 22, bastion: []}}
  m3: {ssh: {config: none}}
  m4: {address: 10.0.0.4, ssh: {bastion: [{address: jump}, {host: m3, port: 23}]}}
`

const reachConfig = `
Host 10.0.0.*
  User ops
  Port 2222
  ProxyJump jump
Host jump
  HostName jump.example
  ProxyJump outer
`

// TestTargets checks the precedence: inventory, then OpenSSH's client configuration,
// then defaults.
func TestTargets(t *testing.T) {
	w, err := NewTargets(load(t, reachInventory, reachConfig).Inventory, nil)
	if err != nil {
		t.Fatal(err)
	}
	common := ssh.Target{Keys: []string{"/id"}, Timeout: 5 * time.Second}
	with := func(change func(*ssh.Target)) ssh.Target {
		c := common
		change(&c)
		return c
	}
	outer := ssh.Target{Host: "bastion outer", Address: "outer", LaxKeys: true, Timeout: 5 * time.Second}
	jump := with(func(t *ssh.Target) { t.Host, t.Address = "bastion jump", "jump.example" })
	jumpOfOpenSSH := jump // its keys come from the configuration of OpenSSH
	jumpOfOpenSSH.Keys, jumpOfOpenSSH.LaxKeys = nil, true
	want := map[string]ssh.Target{
		"m1": with(func(t *ssh.Target) {
			t.Host, t.Address, t.User, t.Port, t.Bastions = "m1", "10.0.0.1", "ops", 2222, []ssh.Target{outer, jumpOfOpenSSH}
		}),
		"m2": with(func(t *ssh.Target) {
			t.Host, t.Address, t.User, t.Port, t.Bastions = "m2", "10.0.0.2", "me", 22, []ssh.Target{}
		}),
		"m3": with(func(t *ssh.Target) { t.Host, t.Address = "m3", "m3" }),
		"m4": with(func(t *ssh.Target) {
			t.Host, t.Address, t.User, t.Port = "m4", "10.0.0.4", "ops", 2222
			t.Bastions = []ssh.Target{outer, jump, with(func(t *ssh.Target) { t.Host, t.Address, t.Port = "m3", "m3", 23 })}
		}),
	}
	if diff := cmp.Diff(want, w.byHost); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidTargets(t *testing.T) {
	for config, text := range map[string]string{
		"Match localnetwork 10.0.0.0/8\n": "SSH settings of host m1: ",
		"Host \"x\n":                      "ssh_config:1: a quotation mark is missing",
	} {
		_, err := NewTargets(load(t, reachInventory, config).Inventory, nil)
		var userError *project.UserError
		if !errors.As(err, &userError) || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: got %v", config, err)
		}
	}
}
