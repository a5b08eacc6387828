//go:build lab

package lifecycle

import (
	"net/netip"
	"os"
	"strings"

	"deployer/test/harness"
)

// changeAddress boots a host with another address, and writes it into the inventory: the
// former address plus 100, or the one that it had before that.
func (s *site) changeAddress(host string) {
	s.T.Helper()
	bytes := netip.MustParseAddr(s.Address(host)).As4()
	if bytes[3] >= 100 {
		bytes[3] -= 100
	} else {
		bytes[3] += 100
	}
	to := netip.AddrFrom4(bytes).String()
	if err := s.Readdress(s.T.Context(), host, to); err != nil {
		s.T.Fatal(err)
	}
	s.Edit(func(inv map[string]any) { harness.Section(inv, "hosts", host)["address"] = to })
}

// keepAddresses makes the following scenarios begin with the present addresses.
func (s *site) keepAddresses() {
	s.T.Helper()
	full, err := os.ReadFile(s.Inventory)
	if err != nil {
		s.T.Fatal(err)
	}
	s.suite.full = full
	s.suite.target = s.ProberTarget(minions...)
}

// requireAddresses checks that the members of etcd and the nodes have the addresses of the
// hosts.
func (s *site) requireAddresses() {
	s.T.Helper()
	s.requireMembers(masters...)
	list := s.etcdctl("m1", "member list")
	wide := s.Kubectl("m1", "get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.addresses[0].address}{\"\\n\"}{end}'")
	for _, h := range masters {
		s.RequireTexts(list, h+", https://"+s.Address(h)+":2380, https://"+s.Address(h)+":2379")
		s.RequireTexts(wide, h+" "+s.Address(h))
	}
}

// addressChanged changes the addresses of all masters, one after the other. The
// member of etcd keeps its data and its identity.
func addressChanged(s *site) {
	for _, host := range []string{"m2", "m1", "m3"} {
		before := s.etcdMember(host)
		s.changeAddress(host)
		if host == "m2" {
			s.RequireTexts(s.Must("apply", "--check", "-i", s.Inventory).Stdout, "etcd member m2", "change the peer URL from "+strings.Join(before.PeerURLs, ""))
		}
		s.Must("install")
		s.requireAddresses()
		if now := s.etcdMember(host); now.ID != before.ID || !now.Serves {
			s.T.Errorf("the member of %s was %+v and is %+v", host, before, now)
		}
		s.RequireReady(nodes)
		s.unchanged("after the address of " + host + " changed")
	}
	s.Must("verify")
	s.keepAddresses()
}

// allAddressesChanged gives all masters other addresses at once, so that no member of
// etcd reaches another. Install and apply refuse and name the command that joins the
// members to a cluster again. The controller of that command is killed, and the same
// command continues. Then all hosts get their former addresses.
func allAddressesChanged(s *site) {
	s.changeAllAddresses()
	refused := s.Deployer("apply", "--yes", "-i", s.Inventory)
	s.RequireExit(refused, 7)
	s.RequireTexts(refused.All(), "m1, m2, m3 have other addresses", "deployer etcd readdress")
	refused = s.Deployer("install")
	s.RequireExit(refused, 4)
	s.RequireTexts(refused.All(), "deployer etcd readdress")
	s.killReaddress("restore the data of this member from the snapshot")
	s.runbookWith("addresses-changed", []string{"CLUSTER", "lab"})
	s.requireReaddressed()

	again := s.Deployer(readdress...)
	s.RequireExit(again, 4)
	s.RequireTexts(again.All(), "a majority of the members of etcd serves")

	s.changeAllAddresses() // sets the former addresses
	s.Must(readdress...)
	s.requireReaddressed()
	s.keepAddresses()
}

var readdress = []string{"etcd", "readdress", "--yes", "--cluster", "lab"}

// killReaddress kills the controller of a readdress when the step has changed a host.
func (s *site) killReaddress(step string) {
	s.T.Helper()
	if !s.StartRun(readdress...).KillAt(func(e map[string]any) bool { return changed(e) && e["name"] == step }) {
		s.T.Errorf("the step %q changed no host", step)
	}
}

// changeAllAddresses writes an object, cuts the power of all masters and boots them with
// another address.
func (s *site) changeAllAddresses() {
	s.T.Helper()
	s.Kubectl("m1", "create configmap before-the-move --from-literal=key=value")
	for _, host := range masters {
		if err := s.Kill(s.T.Context(), host); err != nil {
			s.T.Fatal(err)
		}
	}
	for _, host := range masters {
		s.changeAddress(host)
	}
}

// requireReaddressed checks that the cluster has its addresses and its data.
func (s *site) requireReaddressed() {
	s.T.Helper()
	s.requireAddresses()
	s.RequireReady(nodes)
	s.Kubectl("m1", "delete configmap before-the-move")
	s.Must("verify")
	s.unchanged("after all addresses changed")
}
