package effects

import (
	"strings"
	"testing"

	"deployer/tasks/staticpod"
)

var (
	wanted = Checks{
		StaticPods: []string{"kube-apiserver.yaml", "kube-proxy.yaml"}, CNI: "10-deployer.conflist", Rules: true, Servers: true,
		Services: modeNFTables,
		Settings: map[string]string{"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.rp_filter": "0"},
		Routers:  []string{"router_a1", "router_a2"},
	}
	healthy = Observation{
		Pods: []StaticPod{{File: "kube-apiserver.yaml"}, {File: "kube-proxy.yaml"}},
		Manifests: []staticpod.ManifestFile{{File: "kube-apiserver.yaml", Pod: "kube-system/kube-apiserver"}, {File: "kube-proxy.yaml", Pod: "kube-system/kube-proxy"},
			{File: "own.yaml", Pod: "default/own"}, {File: "notes.txt", Pod: ""}},
		CNI: []CNIFile{{"10-deployer.conflist", "bridge"}, {"99-loopback.conf", "loopback"}},
		Settings: []Setting{{"/usr/lib/sysctl.d/10-d.conf", "net.ipv4.ip_forward", "0"}, {"/etc/sysctl.d/90-deployer-kubernetes.conf", "net.ipv4.ip_forward", "1"},
			{"/etc/sysctl.d/99-x.conf", "net.ipv4.conf.all.send_redirects", "0"}},
		Live:       map[string]string{"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.rp_filter": "0"},
		Servers:    []string{"192.0.2.1"},
		PodServers: map[string][]string{"coredns-a": {"192.0.2.1"}},
		Routers:    []Router{{"router_a1", "Established"}, {"router_a2", "Established"}},
	}
)

// TestRules: each fault of a node is a problem of one check, with its mend.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, r := range Rows(wanted, healthy) {
		if !r.OK {
			t.Errorf("a healthy node has the problem %+v", r)
		}
	}
	for name, tt := range map[string]struct {
		change             func(*Observation)
		check, detail, fix string // an empty check: no problem
	}{
		"static pod that does not run": {func(o *Observation) { o.Pods[1].Problem = "the kubelet has not started pod kube-proxy yet" },
			CheckStaticPods, "has not started", "deployer install"},
		"copy of a manifest": {func(o *Observation) {
			o.Manifests = append(o.Manifests, staticpod.ManifestFile{File: "kube-apiserver.yaml.bak", Pod: "kube-system/kube-apiserver"})
		}, CheckManifests, "kube-apiserver.yaml.bak defines pod kube-system/kube-apiserver, as kube-apiserver.yaml does", "mv /etc/kubernetes/manifests/kube-apiserver.yaml.bak"},
		"pod of the same name elsewhere": {func(o *Observation) {
			o.Manifests = append(o.Manifests, staticpod.ManifestFile{File: "x.yaml", Pod: "default/kube-apiserver"})
		}, "", "", ""},
		"one router is down": {func(o *Observation) { o.Routers = []Router{{"router_a1", "down"}, {"router_a2", "Established"}} }, "", "", ""},
		"all routers are down": {func(o *Observation) { o.Routers = []Router{{"router_a1", "down"}, {"router_a2", "not configured"}} },
			CheckRouters, "no session with a router is established: router_a1 (down), router_a2 (not configured)", "deployer network status"},
		"rules flushed":      {func(o *Observation) { o.RulesError = "table ip deployer_pods is not loaded" }, CheckRules, "reach nothing outside", "systemctl restart deployer-pods"},
		"Services flushed":   {func(o *Observation) { o.ServiceRulesMissing = true }, CheckServices, "for up to an hour", "pkill -x kube-proxy"},
		"foreign CNI file":   {func(o *Observation) { o.CNI = append([]CNIFile{{"05-cilium.conflist", "cilium-cni"}}, o.CNI...) }, CheckCNI, "05-cilium.conflist sorts before", "rm /etc/cni/net.d/05-cilium.conflist"},
		"multus comes first": {func(o *Observation) { o.CNI = append([]CNIFile{{"00-multus.conf", "multus"}}, o.CNI...) }, "", "", ""},
		"CNI file is gone":   {func(o *Observation) { o.CNI = o.CNI[1:] }, CheckCNI, "10-deployer.conflist does not exist", "install"},
		"later file": {func(o *Observation) {
			o.Settings = append(o.Settings, Setting{"/etc/sysctl.d/99-zz-cis.conf", "net/ipv4/ip_forward", "0"})
		}, CheckSettings, `/etc/sysctl.d/99-zz-cis.conf sets net.ipv4.ip_forward to "0" at the next boot`, "remove the line from /etc/sysctl.d/99-zz-cis.conf"},
		"later pattern over no key": {func(o *Observation) {
			o.Settings = append(o.Settings, Setting{"/etc/sysctl.d/99-zz.conf", "net.ipv4.conf.*.rp_filter", "1"})
		}, CheckSettings, "99-zz.conf sets net.ipv4.conf.all.rp_filter", "99-zz.conf"},
		"later pattern over our key": {func(o *Observation) {
			o.Settings = append(o.Settings, Setting{"/etc/sysctl.d/99-zz.conf", "net.ipv4.ip_*", "0"})
		}, "", "", ""},
		"changed by hand":        {func(o *Observation) { o.Live["net.ipv4.ip_forward"] = "0" }, CheckSettings, `net.ipv4.ip_forward is "0"`, "install"},
		"kernel without it":      {func(o *Observation) { delete(o.Live, "net.ipv4.conf.all.rp_filter") }, "", "", ""},
		"DNS with other servers": {func(o *Observation) { o.PodServers["coredns-b"] = []string{"127.0.0.53"} }, CheckServers, "coredns-b started with the name servers 127.0.0.53", "delete pod coredns-b"},
		"only the local resolver": {func(o *Observation) {
			o.Servers, o.PodServers = []string{"127.0.0.53"}, map[string][]string{"coredns-a": {"127.0.0.53"}}
		}, CheckServers, "127.0.0.53", "cluster.dns.upstreams"},
		"kubelet's file is gone": {func(o *Observation) { o.Servers, o.MissingServersFile = nil, "/run/systemd/resolve/resolv.conf" },
			CheckServers, "/run/systemd/resolve/resolv.conf, from which the kubelet takes name servers, does not exist", "deployer install"},
		"host without servers": {func(o *Observation) { o.Servers = nil }, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := clone(healthy)
			tt.change(&found)
			problems := 0
			for _, r := range Rows(wanted, found) {
				if r.OK {
					continue
				}
				problems++
				if r.Check != tt.check || !strings.Contains(r.Detail, tt.detail) || !strings.Contains(r.Fix, tt.fix) {
					t.Errorf("row %+v", r)
				}
			}
			if (tt.check == "") != (problems == 0) {
				t.Errorf("%d problems", problems)
			}
		})
	}
}

// clone copies what the tests change.
func clone(o Observation) Observation {
	o.Pods = append([]StaticPod{}, o.Pods...)
	o.Manifests = append([]staticpod.ManifestFile{}, o.Manifests...)
	o.CNI = append([]CNIFile{}, o.CNI...)
	o.Settings = append([]Setting{}, o.Settings...)
	live, servers := map[string]string{}, map[string][]string{}
	for key, value := range o.Live {
		live[key] = value
	}
	for key, value := range o.PodServers {
		servers[key] = value
	}
	o.Live, o.PodServers = live, servers
	return o
}
