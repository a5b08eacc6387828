package importer

import (
	"slices"
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
