package importer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKubesprayFeaturesThatAreOff imports settings of Kubespray's sample inventory
// (addons.yml, k8s-cluster.yml): of the settings without an equivalent, only those
// that are in effect are listed.
func TestKubesprayFeaturesThatAreOff(t *testing.T) {
	t.Parallel()
	s, err := Read(writeFiles(t, map[string]string{
		"inventory.ini": "[kube_control_plane]\nm1 extra_disk=false\n[kube_node]\nn1\n",
		"group_vars/k8s_cluster/addons.yml": `
kube_network_plugin: calico
calico_vxlan_mode: Always
helm_enabled: false
registry_enabled: "False"
metrics_server_enabled: true
metrics_server_kubelet_insecure_tls: true
cert_manager_enabled: false
cert_manager_namespace: cert-manager
metallb_enabled: false
metallb_speaker_enabled: "{{ metallb_enabled }}"
metallb_namespace: metallb-system
ingress_publish_status_address: ""
kube_feature_gates: []
kube_webhook_token_auth: no
kube_webhook_token_auth_url_skip_tls_verify: false
enable_nodelocaldns: false
nodelocaldns_ip: 169.254.25.10
enable_coredns_k8s_external: false
coredns_k8s_external_zone: k8s_external.local
kubernetes_audit: false
kube_api_anonymous_auth: false
argocd_enabled: false
argocd_enabled_by: nobody
local_volume_provisioner_enabled: "{{ some_switch }}"
`,
	}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Convert()
	if err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, n := range got.Notes {
		notes = append(notes, n.What)
	}
	slices.Sort(notes)
	want := []string{
		"group kube_control_plane",
		"group kube_node",
		"kube_api_anonymous_auth: false", // deployer behaves differently
		"local_volume_provisioner_enabled: '{{ some_switch }}'",
		"metrics_server_enabled: true",
		"metrics_server_kubelet_insecure_tls: true",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// TestOtherInventoriesKeepFalse: outside of Kubespray a variable that is false is one
// that playbooks read.
func TestOtherInventoriesKeepFalse(t *testing.T) {
	t.Parallel()
	s := newSource()
	if err := s.readINI("hosts", "[web]\na tls_enabled=False tls_port=443\n"); err != nil {
		t.Fatal(err)
	}
	got, err := s.Convert()
	if err != nil {
		t.Fatal(err)
	}
	want := "hosts:\n  a: {vars: {tls_enabled: false, tls_port: 443}}\ngroups:\n  web:\n    hosts:\n      - a\n"
	if diff := cmp.Diff(want, string(got.Text)); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
}

// TestKubespraysFamilies: ranges of both families become lists, and ip6 of a host its second address.
func TestKubespraysFamilies(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		vars string
		want []string
	}{
		"both, as releases before 2.28 had it": {"enable_dual_stack_networks: true\nkube_pods_subnet: 10.233.64.0/18\n", []string{
			"pod_cidr: 10.233.64.0/18,fd85:ee78:d8a6:8607::1:0/112", "service_cidr: 10.233.0.0/18,fd85:ee78:d8a6:8607::1000/116", "node_prefix_ipv6: 120", "node_address: '10.0.0.1,fd00::1'"}},
		"both": {"ipv6_stack: true\nkube_pods_subnet_ipv6: fd00:1::/56\nkube_service_addresses_ipv6: fd00:2::/112\nkube_network_node_prefix_ipv6: 64\n", []string{
			"pod_cidr: 10.233.64.0/18,fd00:1::/56", "service_cidr: 10.233.0.0/18,fd00:2::/112", "node_prefix_ipv6: 64"}},
		"IPv6 alone": {"ipv4_stack: false\nipv6_stack: true\nkube_network_plugin: cni\n", []string{"pod_cidr: fd85:ee78:d8a6:8607::1:0/112\n", "node_address: 'fd00::1'"}},
		"off":        {"ipv6_stack: false\nkube_pods_subnet_ipv6: fd00:1::/56\n", []string{"node_address: '10.0.0.1,fd00::1'"}},
	} {
		s, err := Read(writeFiles(t, map[string]string{
			"inventory.ini":                    "[kube_control_plane]\nm1 ansible_host=192.0.2.1 ip=10.0.0.1 ip6=fd00::1\n[kube_node]\nm1\n",
			"group_vars/k8s_cluster/stack.yml": one.vars,
		}))
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Convert()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range one.want {
			if !strings.Contains(string(got.Text), want) {
				t.Errorf("%s: no %q in\n%s", name, want, got.Text)
			}
		}
		if strings.Contains(string(got.Text), "fd00:1::/56") && name == "off" {
			t.Errorf("a range that is off is in\n%s", got.Text)
		}
	}
}
