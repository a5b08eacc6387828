package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/inventory"
)

// TestRecordNodeAddresses: recorded addresses stay, new ones are added in the order of the
// inventory, and two hosts with one address get none.
func TestRecordNodeAddresses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inventory.yaml")
	file := inventory.NodeAddressesFile(path)
	for name, content := range map[string]string{
		path: `
node_network: 10.0.0.0/8
hosts:
  m[1:3]: {address: "192.0.2.[11:13]"}
  n[1:3]: {address: "192.0.2.[21:23]"}
  x1: {address: 192.0.2.31}
  n4: {address: 10.0.0.24}
roles: {master: ["m[1:3]"], minion: ["n[1:4]"]}
`,
		file: "n1: \"10.0.0.21\"\nformer: \"10.0.0.99\"\n",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inv, err := inventory.Load(path, inventory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"m1", "m2", "m3", "n2", "n3"}, inv.WithoutNodeAddress()); diff != "" {
		t.Fatal(diff)
	}
	rows := []nodeAddressRow{
		{host: "n2", addresses: []netip.Addr{netip.MustParseAddr("10.0.0.22")}},
		{host: "m1", addresses: []netip.Addr{netip.MustParseAddr("10.0.0.11")}},
		{host: "m2", addresses: []netip.Addr{netip.MustParseAddr("10.0.0.21")}}, // that of n1
		{host: "m3", addresses: []netip.Addr{netip.MustParseAddr("10.0.0.24")}}, // that of n4
		{host: "n3", problem: "unreachable"},
	}
	refuseTwice(inv, rows)
	if err := recordNodeAddresses(inv, rows); err != nil {
		t.Fatal(err)
	}
	if inv, err = inventory.Load(path, inventory.Options{}); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, h := range inv.Hosts {
		got[h.Name] = h.NodeAddress
	}
	want := map[string]string{"m1": "10.0.0.11", "m2": "", "m3": "", "n1": "10.0.0.21", "n2": "10.0.0.22", "n3": "", "n4": "10.0.0.24", "x1": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const lines = "m1: \"10.0.0.11\"\nn1: \"10.0.0.21\"\nn2: \"10.0.0.22\"\n"
	if got := string(content); len(got) < len(lines) || got[len(got)-len(lines):] != lines {
		t.Errorf("the file is\n%s", got)
	}
}
