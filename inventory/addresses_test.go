package inventory

import (
	"fmt"
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
