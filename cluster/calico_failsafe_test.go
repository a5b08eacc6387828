package cluster

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// TestFailsafePorts: each port by which the hosts of a cluster reach each other is a failsafe port in both
// directions, and each port by which a host reaches itself is one at its own addresses, so that a host
// endpoint without a policy leaves the cluster as it is; and no other port is.
func TestFailsafePorts(t *testing.T) {
	all := Spec{}
	all.Network.Plugin = PluginCalico
	all.Network.Calico.Datastore = DatastoreEtcd
	all.Etcd.Events.Enabled = true
	all.DNS.NodeLocal.Enabled = true
	all.API.Port = 7443
	all.API.VirtualIP = VirtualIPSpec{Address: "10.0.0.100", WitnessPort: 9402}
	all.Proxy.TLS = ProxyTLSSpec{Port: 9443, Certificate: "PEM", PrivateKey: "PEM"}
	plain := Spec{}
	plain.Network.Plugin = PluginCalico

	masters := []Host{{Name: "m1", Roles: []string{RoleMaster}}, {Name: "m2", Roles: []string{RoleMaster}}, {Name: "m3", Roles: []string{RoleMaster}}}
	proxyMasters := []Host{{Name: "m1", Roles: []string{RoleMaster, RoleProxy}}, {Name: "m2", Roles: []string{RoleMaster, RoleProxy}}, {Name: "m3", Roles: []string{RoleMaster}}}
	minions := []Host{{Name: "n1", Roles: []string{RoleMinion}}, {Name: "n2", Roles: []string{RoleMinion}}}
	proxies := []Host{{Name: "n1", Roles: []string{RoleMinion, RoleProxy}}, {Name: "p1", Roles: []string{RoleProxy}}}
	for name, c := range map[string]struct {
		spec  Spec
		hosts []Host
	}{
		"all parts, proxies on masters":     {all, slices.Concat(proxyMasters, minions)},
		"all parts, proxies apart":          {all, slices.Concat(masters, proxies)},
		"all parts, the masters' addresses": {all, slices.Concat(masters, minions)},
		"no further part":                   {plain, slices.Concat(masters, minions)},
		"proxies on masters":                {plain, slices.Concat(proxyMasters, minions)},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range c.hosts {
				c.hosts[i].Address = fmt.Sprintf("10.0.0.%d", i+1)
			}
			spec := c.spec.WithDefaults()
			check := &checker{spec: spec, hosts: c.hosts, place: place(spec, c.hosts)}
			metrics, _ := urlPort(spec.Etcd.MetricsURL)
			wanted := map[int]string{22: "SSH", portTypha: "Typha, which hosts get as the cluster grows"}
			local := map[int]string{}
			for _, h := range c.hosts {
				for _, p := range check.portsOf(h, proxyPort(spec, check.place), metrics) {
					switch p.needed {
					case byCluster:
						wanted[p.number] = p.name
					case byHost:
						local[p.number] = p.name
					default:
						t.Errorf("%s (%d): portsOf does not say who needs the port", p.name, p.number)
					}
				}
			}
			delete(local, spec.API.Port) // a minion's own way to the API, at a port that is open anyway
			inbound, outbound := failsafePorts(spec, check.place)
			compare := func(what string, got []int, want map[int]string) {
				if sorted := slices.Sorted(maps.Keys(want)); !slices.Equal(got, sorted) {
					t.Errorf("%s are open %v, want %v: %v", what, got, sorted, want)
				}
			}
			everywhere, itself := tcpPorts(t, inbound)
			compare("inbound", everywhere, wanted)
			compare("inbound at the host itself", itself, local)
			delete(wanted, 22)
			if spec.DNS.NodeLocal.Enabled {
				wanted[53] = "cluster DNS, which the DNS cache asks"
			}
			everywhere, itself = tcpPorts(t, outbound)
			compare("outbound", everywhere, wanted)
			compare("outbound to the host itself", itself, local)
		})
	}
}

// tcpPorts returns the TCP ports of a list of failsafe ports, sorted: those of all addresses, and those of
// addresses of the host itself. Each must be there once.
func tcpPorts(t *testing.T, list []any) (everywhere, itself []int) {
	t.Helper()
	for _, entry := range list {
		switch e := entry.(map[string]any); {
		case e["protocol"] != "TCP":
		case e["net"] == nil:
			everywhere = append(everywhere, e["port"].(int))
		case e["net"] == "127.0.0.0/8" || e["net"] == "169.254.20.10/32":
			itself = append(itself, e["port"].(int))
		default:
			t.Errorf("the port %v is open for %v", e["port"], e["net"])
		}
	}
	for _, ports := range [][]int{everywhere, itself} {
		slices.Sort(ports)
		if len(slices.Compact(slices.Clone(ports))) != len(ports) {
			t.Errorf("a port is there twice: %v", ports)
		}
	}
	return everywhere, itself
}
