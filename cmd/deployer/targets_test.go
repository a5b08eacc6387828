package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/transport/ssh"
	"deployer/inventory"
)

// site writes an inventory and a client configuration of OpenSSH beside it.
func site(t *testing.T, text, config string) *inventory.Inventory {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"inventory.yaml": text, "ssh_config": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", "/home/u")
	inv, err := inventory.Load(filepath.Join(dir, "inventory.yaml"), inventory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return inv
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

// What the inventory says wins over OpenSSH's client configuration, and that
// over the defaults.
func TestWays(t *testing.T) {
	w, err := newWays(site(t, reachInventory, reachConfig), nil)
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
	jumpOfOpenSSH := jump // its keys are those of OpenSSH
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
	if diff := cmp.Diff(want, w.targets); diff != "" {
		t.Error(diff)
	}
}

func TestWaysThatCannotBe(t *testing.T) {
	for config, text := range map[string]string{
		"Match localnetwork 10.0.0.0/8\n": "the way to host m1: ",
		"Host \"x\n":                      "ssh_config:1: a quotation mark is missing",
	} {
		_, err := newWays(site(t, reachInventory, config), nil)
		if err == nil || !strings.Contains(err.Error(), text) || exitCode(err) != exitUsage {
			t.Errorf("%q: got %v", config, err)
		}
	}
}

func TestShowTellsWhatOpenSSHSays(t *testing.T) {
	inv := site(t, reachInventory, reachConfig)
	out, code := call(t, newInventoryCommand, "show", "m1", "-i", inv.File)
	for _, want := range []string{"ssh.user             root", "User                 ops ", "OpenSSH (" + inv.Dir + "/ssh_config:3)", "ProxyJump            jump "} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in\n%s", code, want, out)
		}
	}
	out, code = call(t, newInventoryCommand, "list", "-i", inv.File)
	if code != 0 || !strings.Contains(out, "ops, port 2222") || !strings.Contains(out, "m3    m3        root ") {
		t.Errorf("exit %d\n%s", code, out)
	}
}
