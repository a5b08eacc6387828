package importer

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
	"deployer/inventory"
)

// writeFiles writes files into a new directory, which it returns.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// imported imports hosts.ini of the files, and reads the result back.
func imported(t *testing.T, files map[string]string) (*inventory.Inventory, *Result) {
	t.Helper()
	s, err := Read(filepath.Join(writeFiles(t, files), "hosts.ini"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Convert()
	if err != nil {
		t.Fatal(err)
	}
	inv, err := inventory.Parse("inventory.yaml", r.Text)
	if err != nil {
		t.Fatalf("deployer does not read it: %v\n%s", err, r.Text)
	}
	return inv, r
}

// wantNote fails unless a note has the text.
func wantNote(t *testing.T, r *Result, text string) {
	t.Helper()
	if !slices.ContainsFunc(r.Notes, func(n Note) bool { return strings.Contains(n.String(), text) }) {
		t.Errorf("no note has %q:\n%s", text, r.Text)
	}
}

// TestBastionOfKubespray: every setting of the login at the bastion arrives.
func TestBastionOfKubespray(t *testing.T) {
	t.Parallel()
	inv, r := imported(t, map[string]string{"hosts.ini": `
[bastion]
jump ansible_host=203.0.113.7
spare ansible_host=203.0.113.8
[bastion:vars]
ansible_user=gate
ansible_port="2022"
[all:vars]
ansible_ssh_private_key_file=/keys/site
[kube_control_plane]
m1 ansible_host=10.0.0.1
[kube_node]
n1 ansible_host=10.0.0.2
`})
	for _, h := range inv.Hosts {
		want := inventory.Hop{Address: "203.0.113.7", User: "gate", Port: 2022, Key: "/keys/site"}
		if len(h.SSH.Bastion) != 1 || h.SSH.Bastion[0].Address != want.Address || h.SSH.Bastion[0].User != want.User ||
			h.SSH.Bastion[0].Port != want.Port || h.SSH.Bastion[0].Key != want.Key {
			t.Errorf("%s is reached through %+v, want %+v", h.Name, h.SSH.Bastion, want)
		}
	}
	if len(inv.Hosts) != 2 {
		t.Errorf("hosts %v: the jump hosts are none of the cluster", inv.Names())
	}
	wantNote(t, r, "hosts.ini:4: host spare in bastion: is left out")
}

// TestBastionsOfHosts: a host has the bastion of its own arguments of ssh, or none when
// they are empty, whatever its groups have.
func TestBastionsOfHosts(t *testing.T) {
	t.Parallel()
	inv, _ := imported(t, map[string]string{"hosts.ini": `
[all:vars]
ansible_ssh_common_args='-J one@203.0.113.1,203.0.113.2:2222'
[web]
w1
w2 ansible_ssh_common_args='-J three'
w3 ansible_ssh_common_args=''
w4 ansible_ssh_args='-J four'
[db]
d1
[db:vars]
ansible_ssh_common_args=-o ControlMaster=auto
`})
	got := map[string][]string{}
	for _, h := range inv.Hosts {
		got[h.Name] = []string{}
		for _, hop := range h.SSH.Bastion {
			got[h.Name] = append(got[h.Name], fmt.Sprintf("%s@%s:%d", hop.User, hop.Address, hop.Port))
		}
	}
	want := map[string][]string{"w1": {"one@203.0.113.1:0", "@203.0.113.2:2222"}, "w2": {"@three:0"}, "w3": {}, "w4": {"@four:0"}, "d1": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRolesOfKubespray: groups of one's own over roles stay readable, and a master takes
// pods only when it is a node too.
func TestRolesOfKubespray(t *testing.T) {
	t.Parallel()
	inv, r := imported(t, map[string]string{"hosts.ini": `
[kube-master]
m1 ip=10.0.0.1 access_ip=192.0.2.1
m2
m3
[kube-node]
n1
m2
[etcd:children]
kube-master
[vault:children]
etcd
[monitored:children]
kube-node
extra
[extra]
x1
[kube-node:vars]
ansible_user=worker
kubelet_max_pods=200
http_proxy=http://u:hunter2@proxy.example:3128
no_proxy=a.example, 10.0.0.0/8
`})
	for group, want := range map[string][]string{"vault": {"m1", "m2", "m3"}, "monitored": {"m2", "n1", "x1"}} {
		if got := slices.Sorted(slices.Values(inv.Groups[group])); !slices.Equal(got, want) {
			t.Errorf("group %s is %v, want %v", group, got, want)
		}
	}
	if strings.Contains(string(r.Text), "schedulable_masters") {
		t.Error("one master that is a node too made all masters schedulable")
	}
	if m2, _ := inv.Host("m2"); !slices.Equal(m2.Roles, []string{"master", "minion"}) || m2.SSH.User != "worker" {
		t.Errorf("m2 has the roles %v and the user %q", m2.Roles, m2.SSH.User)
	}
	if m1, _ := inv.Host("m1"); m1.Address != "m1" || m1.NodeAddress != "10.0.0.1" || m1.ExternalAddress != "192.0.2.1" {
		t.Errorf("m1 has the addresses %q, %q and %q", m1.Address, m1.NodeAddress, m1.ExternalAddress)
	}
	if m1, _ := inv.Host("m1"); m1.SSH.User != "" {
		t.Errorf("m1, which is no node, has the user %q of the nodes", m1.SSH.User)
	}
	for _, note := range []string{
		"hosts.ini:11: child etcd of group vault",
		"hosts.ini:13: child kube-node of group monitored",
		"hosts.ini:6: group kube-node: is the role minion here",
		"hosts.ini:20: kubelet_max_pods: 200: is set for kube-node only",
		"hosts.ini:3: access_ip=192.0.2.1: is external_address here",
	} {
		wantNote(t, r, note)
	}
	if !strings.Contains(string(r.Text), `http_proxy: !secret "http://u:hunter2@proxy.example:3128"`) || strings.Count(string(r.Text), "hunter2") != 1 {
		t.Errorf("the password of a proxy is not marked, or shown in a note:\n%s", r.Text)
	}
}

// TestAddressesOfKubespray: ansible_host, ip and access_ip become the three addresses of a host.
func TestAddressesOfKubespray(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ vars, address, node, external string }{
		"none":             {"", "m1", "", ""},
		"SSH":              {"ansible_host=10.0.0.1", "10.0.0.1", "", ""},
		"SSH and node":     {"ansible_host=198.51.100.7 ansible_port=2201 ip=10.0.0.1", "198.51.100.7", "10.0.0.1", ""},
		"all the same":     {"ansible_host=10.0.0.1 ip=10.0.0.1 access_ip=10.0.0.1", "10.0.0.1", "", ""},
		"all three":        {"ansible_host=198.51.100.7 ip=10.0.0.1 access_ip=203.0.113.1", "198.51.100.7", "10.0.0.1", "203.0.113.1"},
		"access and node":  {"ansible_host=198.51.100.7 ip=10.0.0.1 access_ip=10.0.0.1", "198.51.100.7", "10.0.0.1", ""},
		"SSH from outside": {"ansible_host=203.0.113.1 ip=10.0.0.1 access_ip=203.0.113.1", "203.0.113.1", "10.0.0.1", "203.0.113.1"},
		"without SSH":      {"ip=10.0.0.1", "m1", "10.0.0.1", ""},
		"access alone":     {"access_ip=10.0.0.1", "m1", "10.0.0.1", ""},
		"name and access":  {"ansible_host=m1.example access_ip=10.0.0.1", "m1.example", "10.0.0.1", ""},
		"SSH and access":   {"ansible_host=10.0.0.1 access_ip=203.0.113.1", "10.0.0.1", "", "203.0.113.1"},
		"template":         {"ansible_host=10.0.0.1 ip='{{ ansible_eth1.ipv4.address }}'", "10.0.0.1", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv, _ := imported(t, map[string]string{"hosts.ini": "[kube_control_plane]\nm1 " + tt.vars + "\n[kube_node]\nm1\n"})
			m1, _ := inv.Host("m1")
			got := []string{m1.Address, m1.NodeAddress, m1.ExternalAddress}
			if diff := cmp.Diff([]string{tt.address, tt.node, tt.external}, got); diff != "" {
				t.Error(diff)
			}
			if len(m1.Vars) > 0 {
				t.Errorf("the host has the variables %v", m1.Vars)
			}
		})
	}
}

// TestInterfacesOfKubespray: an ip that is the address of an interface selects the node address.
func TestInterfacesOfKubespray(t *testing.T) {
	t.Parallel()
	inv, r := imported(t, map[string]string{"hosts.ini": `
[kube_control_plane]
m1
[kube_node]
n1 ip=10.0.0.4
n2 ip="{{ ansible_facts['bond0']['ipv4']['address'] }}"
n3 ip="{{ ansible_bond0.ipv4.address }}" access_ip="{{ ansible_eth9.ipv4.address }}"
n4
[storage]
n4
[storage:vars]
ip={{ hostvars[inventory_hostname]['ansible_eth2']['ipv4']['address'] }}
[k8s_cluster:children]
kube_control_plane
kube_node
[k8s_cluster:vars]
ip={{ ansible_eth1.ipv4.address }}
`})
	got := map[string]string{}
	for _, h := range inv.Hosts {
		got[h.Name] = h.NodeAddress + " " + h.NodeAddressChoice.Interface
		if len(h.Vars) > 0 {
			t.Errorf("%s has the variables %v", h.Name, h.Vars)
		}
	}
	want := map[string]string{"m1": " eth1", "n1": "10.0.0.4 eth1", "n2": " bond0", "n3": " bond0", "n4": " eth2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantNote(t, r, "hosts.ini:6: ip: {{ ansible_facts['bond0']['ipv4']['address'] }}: is node_interface bond0 here")
	wantNote(t, r, "hosts.ini:7: access_ip: {{ ansible_eth9.ipv4.address }}: has a Jinja template")
}

// TestSSHArgs: ways through other hosts become bastions; other options are listed.
func TestSSHArgs(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for text, want := range map[string]sshArgs{
		"-J one@203.0.113.1,203.0.113.2:2222": {bastions: []any{m{"user": "one", "address": "203.0.113.1"}, m{"address": "203.0.113.2", "port": 2222}}},
		"-Jjump":                              {bastions: []any{m{"address": "jump"}}},
		"-o ProxyJump=[2001:db8::1]:2200 -o ProxyJump=second": {bastions: []any{m{"address": "2001:db8::1", "port": 2200}}},
		"-oProxyJump=a@b@c": {bastions: []any{m{"user": "a@b", "address": "c"}}},
		`-o ProxyCommand="ssh -q -W %h:%p -p 2200 -l u -i k h"`:   {bastions: []any{m{"user": "u", "address": "h", "port": 2200, "key": "k"}}},
		`-o "ProxyCommand ssh -W %h:%p h -o ConnectTimeout=5"`:    {bastions: []any{m{"address": "h"}}, others: []string{"ProxyCommand with -o ConnectTimeout=5"}},
		`-o ProxyCommand="nc -x proxy %h %p"`:                     {others: []string{"-o ProxyCommand=nc -x proxy %h %p"}},
		"-o ProxyJump=none":                                       {},
		"-o StrictHostKeyChecking=no -o UserKnownHostsFile=/x -C": {hostKeys: []string{"-o StrictHostKeyChecking=no", "-o UserKnownHostsFile=/x"}, others: []string{"-C"}},
		"-o 'unclosed":         {others: []string{"-o 'unclosed"}},
		"-i /keys/one -F none": {others: []string{"-i /keys/one", "-F none"}},
	} {
		if diff := cmp.Diff(want, parseSSHArgs(text), cmp.AllowUnexported(sshArgs{})); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// TestUnsafeBraces: a text that Ansible never takes for a template prints as it is.
func TestUnsafeBraces(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"p{{w}}d{#x", "{{", "}}{{ '{{' }}", "{% raw %}{{ x }}{% endraw %}", "{{{{"} {
		tree, err := lang.CompileInterpolation(literalBraces(text), lang.Origin{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := tree.Value(map[string]any{}); err != nil || got != text {
			t.Errorf("%q prints %q, error %v", text, got, err)
		}
	}
}

// TestConfiguration: settings of ansible.cfg that change values or logins are listed.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	_, r := imported(t, map[string]string{"hosts.ini": "h\n", "ansible.cfg": `[defaults]
hash_behaviour = merge
remote_user=deploy
; private_key_file=/no
forks = 20
[privilege_escalation]
become = True
become_user = root
[ssh_connection]
ssh_args = -J jump
`})
	var got []string
	for _, n := range r.Notes {
		got = append(got, filepath.Base(n.At)+" "+n.What)
	}
	want := []string{"ansible.cfg:2 hash_behaviour=merge", "ansible.cfg:3 remote_user=deploy", "ansible.cfg:7 become=True", "ansible.cfg:10 ssh_args=-J jump"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNotesShowNoSecrets: passwords of any name are in no note.
func TestNotesShowNoSecrets(t *testing.T) {
	t.Parallel()
	_, r := imported(t, map[string]string{"hosts.ini": `
h
[all:vars]
ansible_shell_executable=https://bob:hunter2@x
ansible_password=hunter2
ansible_ssh_password=hunter2
ansible_su_pass=hunter2
ansible_winrm_password=hunter2
ansible_httpapi_token=hunter2
db_password="{{ lookup('x') }}hunter2"
`, "group_vars/all.yml": "api_keys: {1: hunter2}\ngroups: [{password: hunter2, url: 'https://bob:hunter2@x/'}]\n", "host_vars/h.yml": ""})
	for _, n := range r.Notes {
		if strings.Contains(n.String(), "hunter2") {
			t.Errorf("a note shows a password: %s", n)
		}
	}
}

// TestReservedNames: the names of variables that belong to deployer are those of the engine.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(lang.Reserved(), reservedVars); diff != "" {
		t.Error(diff)
	}
}

// checkRoundTrip compares the variables of a written inventory, as deployer reads them,
// with those that the source resolves to.
func checkRoundTrip(t *testing.T, s *Source, r *Result) {
	t.Helper()
	inv, err := inventory.Parse("inventory.yaml", r.Text)
	if err != nil || r.Kubespray {
		return // refused with an error, or settings of a cluster
	}
	groups := s.groupsByHost(s.order())
	for name, here := range r.Hosts {
		h, _ := inv.Host(here)
		want := map[string]any{}
		for v, value := range s.variablesOf(name, groups[name]) {
			if strings.HasPrefix(v, "ansible_") || slices.Contains(reservedVars, v) || secretName.MatchString(v) || hasJinja(value.v) {
				continue
			}
			want[v] = plainValue(value.v, &[]string{})
		}
		got := maps.Clone(h.Vars)
		maps.DeleteFunc(got, func(v string, _ any) bool { _, ok := want[v]; return !ok })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("host %s (-source +written):\n%s\n%s", name, diff, r.Text)
		}
	}
}

// TestNetworkOfKubespray: the pod network is that of Kubespray, with its defaults.
func TestNetworkOfKubespray(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ vars, plugin, encapsulation, note string }{
		"defaults":          {"", "calico", "vxlan", "is unset, which is Always since Kubespray 2.19"},
		"calico":            {"kube_network_plugin: calico", "calico", "vxlan", "is unset, which is Always since Kubespray 2.19"},
		"BGP":               {"{calico_network_backend: bird, calico_vxlan_mode: Never}", "calico", "none", "kube_network_plugin: is unset, which is Calico"},
		"IPIP":              {"{kube_network_plugin: calico, calico_ipip_mode: CrossSubnet, calico_vxlan_mode: Never}", "calico", "ipip-cross-subnet", ""},
		"VXLAN by subnet":   {"{kube_network_plugin: calico, calico_vxlan_mode: CrossSubnet}", "calico", "vxlan-cross-subnet", ""},
		"BIRD beside VXLAN": {"{kube_network_plugin: calico, calico_vxlan_mode: Always, calico_network_backend: bird}", "calico", "vxlan", "calico_network_backend: bird: is left out"},
		"both":              {"{kube_network_plugin: calico, calico_ipip_mode: Always}", "calico", "", "has no equivalent at cluster.network.calico.encapsulation"},
		"etcd":              {"{kube_network_plugin: calico, calico_vxlan_mode: Always, calico_datastore: etcd}", "calico", "vxlan", "calico_datastore: etcd: is an etcd cluster of Calico's own here"},
		"one's own":         {"{kube_network_plugin: cni, calico_pool_blocksize: 24}", "none", "", ""},
		"another":           {"{kube_network_plugin: cilium, nat_outgoing: true}", "", "", "kube_network_plugin: cilium: is not installed here"},
		"template":          {"{kube_network_plugin: '{{ x }}'}", "calico", "vxlan", "kube_network_plugin: '{{ x }}': an expression cannot stand here"},
		"reflectors, VXLAN": {"{kube_network_plugin: calico, calico_vxlan_mode: Always}", "calico", "vxlan", "group calico_rr: is left out"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv, r := imported(t, map[string]string{
				"hosts.ini":          "[kube_control_plane]\nm1 ip=10.0.0.1\n[kube_node]\nm1\n[calico_rr]\nm1\n",
				"group_vars/all.yml": tt.vars + "\n",
			})
			var section struct {
				Network struct {
					Plugin     string
					Calico     struct{ Encapsulation, Datastore string }
					Reflectors []string
				}
			}
			if inv.Cluster != nil {
				if err := inv.Cluster.Decode(&section); err != nil {
					t.Fatal(err)
				}
			}
			got := section.Network
			if want := map[bool]string{true: "etcd"}[name == "etcd"]; got.Calico.Datastore != want {
				t.Errorf("the datastore is %q, want %q", got.Calico.Datastore, want)
			}
			if got.Plugin != tt.plugin || got.Calico.Encapsulation != tt.encapsulation {
				t.Errorf("plugin %q with encapsulation %q, want %q with %q", got.Plugin, got.Calico.Encapsulation, tt.plugin, tt.encapsulation)
			}
			if bgp := !strings.HasPrefix(tt.encapsulation, "vxlan"); bgp != (len(got.Reflectors) == 1) {
				t.Errorf("the reflectors are %v", got.Reflectors)
			}
			if tt.note != "" {
				wantNote(t, r, tt.note)
			}
		})
	}
}

// TestRoutersOfKubespray: BGP peers of all nodes and announced Services are taken over where there is BGP.
func TestRoutersOfKubespray(t *testing.T) {
	t.Parallel()
	const peers = "peers: [{name: Edge 1, router_id: 10.0.9.1, as: \"65001\", filters: []}, {router_id: 10.0.9.2, as: 65002}, {name: x, as: 65003}]\ncalico_advertise_cluster_ips: true\ncalico_advertise_service_external_ips: [192.0.2.0/24]\n"
	type router struct {
		Name, Address string
		ASN           uint32
	}
	both := []router{{"edge-1", "10.0.9.1", 65001}, {"router-2", "10.0.9.2", 65002}}
	for name, tt := range map[string]struct {
		vars  string
		want  []router
		notes []string
	}{
		"BGP":       {"calico_vxlan_mode: Never\npeer_with_router: true\n", both, []string{"nodes accepted all routes of these routers", "has no router_id or no as", "peers of group rack0: is left out"}},
		"off":       {"calico_vxlan_mode: Never\n", nil, nil},
		"VXLAN":     {"calico_vxlan_mode: Always\npeer_with_router: true\n", nil, []string{"peer_with_router: true: is left out"}},
		"no Calico": {"kube_network_plugin: cilium\npeer_with_router: true\n", nil, nil},
	} {
		inv, r := imported(t, map[string]string{
			"hosts.ini":            "[kube_control_plane]\nm1 ip=10.0.0.1\n[kube_node]\nm1\n[rack0]\nm1\n",
			"group_vars/all.yml":   tt.vars + peers,
			"group_vars/rack0.yml": "peers: [{router_id: 10.0.8.1, as: 65009}]\n",
		})
		var section struct {
			Network struct {
				BGP struct {
					Peers     []router
					Advertise struct {
						ClusterIPs  bool     `yaml:"cluster_ips"`
						ExternalIPs []string `yaml:"external_ips"`
					}
				}
			}
		}
		if inv.Cluster != nil {
			if err := inv.Cluster.Decode(&section); err != nil {
				t.Fatal(err)
			}
		}
		got := section.Network.BGP
		if diff := cmp.Diff(tt.want, got.Peers); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if announced := got.Advertise.ClusterIPs && len(got.Advertise.ExternalIPs) == 1; announced != (tt.want != nil) {
			t.Errorf("%s: announced: %+v", name, got.Advertise)
		}
		for _, note := range tt.notes {
			wantNote(t, r, note)
		}
	}
}
