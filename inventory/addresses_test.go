package inventory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestThreeAddresses: the addresses of a range of hosts are ranges; a host without an address has
// its name.
func TestThreeAddresses(t *testing.T) {
	inv, err := read(`
hosts:
  m[1:2]: {address: "192.0.2.[11:12]", node_address: "10.0.0.[11:12]", external_address: "m[1:2].example"}
  n1: {node_address: "fd00::1"}
  n2: {address: 192.0.2.22, external_address: 203.0.113.22}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, h := range inv.Hosts {
		got[h.Name] = []string{h.Address, h.NodeAddress, h.ExternalAddress}
	}
	want := map[string][]string{
		"m1": {"192.0.2.11", "10.0.0.11", "m1.example"},
		"m2": {"192.0.2.12", "10.0.0.12", "m2.example"},
		"n1": {"n1", "fd00::1", ""},
		"n2": {"192.0.2.22", "", "203.0.113.22"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestPortsOfAddresses: a port of an address is that of the host, over those of its groups.
func TestPortsOfAddresses(t *testing.T) {
	inv, err := read(`
ssh: {port: 22}
hosts:
  m[1:2]: {address: "198.51.100.7:[2201:2202]"}
  n1: {address: "gate.example:2203", ssh: {user: ops}}
  n2: {address: "fd00::1"}
groups:
  masters: {hosts: ["m[1:2]"], ssh: {port: 2222}}
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	type login struct {
		Address string
		Port    int
		Origin  string
	}
	got := map[string]login{}
	for _, h := range inv.Hosts {
		l := login{Address: h.Address, Port: h.SSH.Port}
		for _, o := range inv.Origins(h.Name) {
			if o.Key == "ssh.port" {
				l.Origin = fmt.Sprintf("%v %s %s", o.Value, o.Layer, o.Pos)
			}
		}
		got[h.Name] = l
	}
	want := map[string]login{
		"m1": {"198.51.100.7", 2201, "2201 host m[1:2] inventory.yaml:4:3"},
		"m2": {"198.51.100.7", 2202, "2202 host m[1:2] inventory.yaml:4:3"},
		"n1": {"gate.example", 2203, "2203 host n1 inventory.yaml:5:3"},
		"n2": {"fd00::1", 22, "22 all inventory.yaml:2:13"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAddressesOfBothFamilies: an address of each family for each host, which the inventory gives or a
// file of chosen addresses has.
func TestAddressesOfBothFamilies(t *testing.T) {
	const hosts = `
node_network: 10.0.0.0/8, fd00::/64
hosts:
  m[1:2]: {address: "192.0.2.[11:12]", node_address: "10.0.0.[11:12], fd00::[11:12]"}
  n1: {address: 192.0.2.21}
  n2: {address: 10.0.0.22}
roles: {master: ["m[1:2]"], minion: [n1, n2]}
`
	path := filepath.Join(t.TempDir(), "inventory.yaml")
	for file, content := range map[string]string{path: hosts, NodeAddressesFile(path): "n1: \"10.0.0.21,fd00::21\"\nn2: \"10.0.0.22\"\n"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inv, err := Load(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, h := range inv.Hosts {
		got = append(got, h.NodeAddress)
	}
	// n2 was chosen when there was one network.
	if diff := cmp.Diff([]string{"10.0.0.11,fd00::11", "10.0.0.12,fd00::12", "10.0.0.21,fd00::21", ""}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"n2"}, inv.WithoutNodeAddress()); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		`hosts: {"m[1:2]": {node_address: "10.0.0.[11:12],fd00::1"}}`: "fd00::1 has 1 address, and 2 addresses before the comma",
		`hosts: {m1: {node_address: "10.0.0.1,10.0.0.2"}}`:            "two addresses of one family",
		`hosts: {m1: {node_address: "10.0.0.1,"}}`:                    `node_address "" is neither an IP address nor a name`,
		`hosts: {m1: {node_address: "10.0.0.1,m1.example"}}`:          `node_address "m1.example" is a name`,
		"node_network: fd00::/64,fd01::/64\nhosts: {m1: {}}":          "two networks of one family",
	} {
		if _, err := read(text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
