package plan_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"deployer/test/lab/plan"
)

func TestLayoutNamesAndAddressesHostsInAFixedOrder(t *testing.T) {
	spec := plan.Spec{Name: "x", Masters: 2, Minions: 1, Etcd: 1, Proxies: 1, Hosts: 1}
	got, err := spec.Layout()
	if err != nil {
		t.Fatal(err)
	}
	a := netip.MustParseAddr
	want := []plan.Host{
		{Name: "m1", Role: "master", Address: a("172.31.0.11")},
		{Name: "m2", Role: "master", Address: a("172.31.0.12")},
		{Name: "n1", Role: "minion", Address: a("172.31.0.13")},
		{Name: "e1", Role: "etcd", Address: a("172.31.0.14")},
		{Name: "p1", Role: "proxy", Address: a("172.31.0.15")},
		{Name: "h1", Address: a("172.31.0.16")},
	}
	if d := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Error(d)
	}
}

// TestLargestLayoutHasUniqueAddressesInsideTheSubnet: every address of the largest
// lab lies in the subnet and belongs to one host only, and every hardware address
// belongs to one host only.
func TestLargestLayoutHasUniqueAddressesInsideTheSubnet(t *testing.T) {
	hosts, err := plan.Spec{Name: "x", Minions: plan.MaxHosts}.Layout()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{plan.Controller().String(): "the controller", plan.MAC(plan.Controller()): "the controller"}
	last := netip.MustParseAddr("172.31.0.255")
	for _, h := range hosts {
		if !plan.Subnet().Contains(h.Address) || h.Address == last {
			t.Errorf("%s has %s, not a host address of %s", h.Name, h.Address, plan.Subnet())
		}
		for _, a := range []string{h.Address.String(), plan.MAC(h.Address)} {
			if other, taken := seen[a]; taken {
				t.Errorf("%s and %s share %s", h.Name, other, a)
			}
			seen[a] = h.Name
		}
		if len(h.Name) > 15 {
			t.Errorf("%s is too long for the name of a network interface", h.Name)
		}
	}
}

func TestLayoutRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		spec       plan.Spec
	}{
		{"no hosts", "has no hosts", plan.Spec{Name: "x"}},
		{"too many", "more than 200 hosts", plan.Spec{Name: "x", Masters: 3, Minions: 198}},
		{"negative", "-1 hosts", plan.Spec{Name: "x", Masters: -1, Minions: 3}},
		{"no name", "lab name", plan.Spec{Masters: 1}},
		{"dot in the name", "lab name", plan.Spec{Name: "a.b", Masters: 1}},
		{"path in the name", "lab name", plan.Spec{Name: "../x", Masters: 1}},
		{"capital", "lab name", plan.Spec{Name: "Lab", Masters: 1}},
		{"dash at the end", "lab name", plan.Spec{Name: "lab-", Masters: 1}},
		{"too long", "lab name", plan.Spec{Name: strings.Repeat("a", 64), Masters: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.spec.Layout()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestResourceNamesLeadBackToTheirLab(t *testing.T) {
	for _, lab := range []string{"a", "a-b", "lab", "1", strings.Repeat("x", 63)} {
		for _, resource := range []string{
			plan.LabNamespace(lab),
			plan.HostResource(lab, "m1"),
			plan.VolumeResource(lab, "b-m1", "/var/lib/etcd"),
		} {
			if got, ok := plan.LabOf(resource); !ok || got != lab {
				t.Errorf("LabOf(%q) = %q, %v; want %q", resource, got, ok, lab)
			}
		}
	}
	for _, other := range []string{"deployer", "deployer-lab-", "deployer-lab-.m1", "my-deployer-lab-x", "deployer-lab-A.m1"} {
		if lab, ok := plan.LabOf(other); ok {
			t.Errorf("LabOf(%q) = %q, but no lab makes such a name", other, lab)
		}
	}
}
