package settings

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// TestRunning reads the files of a master as the roles write them, of a host where a kubelet
// alone is left, and of a host with nothing.
func TestRunning(t *testing.T) {
	t.Parallel()
	empty := func(set map[string]any) engine.Output {
		out := engine.Output{"node": "", "member": "", "domain": "", "max_pods": "", "service_cidr": "", "issuer_domain": "", "network_plugin": "", "kube_proxy": "", "api_proxy": "", "cni": "", "calico_version": "", "calico_datastore": "", "virtual_ips": []any{}}
		for k, v := range set {
			out[k] = v
		}
		return out
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  engine.Output
	}{
		"nothing": {nil, empty(nil)},
		"a master": {map[string]string{
			kubeletUnit:   "ExecStart=/usr/local/bin/kubelet \\\n  \"--config=/var/lib/kubelet/config.yaml\" \\\n  \"--hostname-override=m1.rack-2\" \\\n",
			etcdUnit:      "ExecStart=/usr/local/bin/etcd \\\n  \"--name=m1.rack-2\" \\\n",
			kubeletConfig: "apiVersion: x\nclusterDNS:\n- 10.96.0.10\nclusterDomain: cluster.local\nmaxPods: 110\n",
			apiServer: "spec:\n  containers:\n  - command:\n    - \"--service-account-issuer=https://kubernetes.default.svc.new.example\"\n" +
				"    - \"--service-account-issuer=https://kubernetes.default.svc.cluster.local\"\n    - \"--service-cluster-ip-range=10.96.0.0/16\"\n",
			cniConfig:   `{"plugins": [{"type": "ptp"}, {"type": "portmap"}]}`,
			proxyAccess: "kind: Config\n",
		}, empty(map[string]any{"node": "m1.rack-2", "member": "m1.rack-2", "domain": "cluster.local", "max_pods": "110", "service_cidr": "10.96.0.0/16", "issuer_domain": "new.example", "network_plugin": "bgp", "kube_proxy": "runs", "cni": "ptp"})},
		"a minion with a network of the user's own": {map[string]string{
			kubeletUnit:                        "ExecStart=/usr/local/bin/kubelet \\\n  \"--hostname-override=n1\" \\\n",
			kubeletConfig:                      "clusterDomain: cluster.local\n",
			"/etc/kubernetes/proxy/nginx.conf": "events {}\n",
		}, empty(map[string]any{"node": "n1", "domain": "cluster.local", "network_plugin": "none", "kube_proxy": "none", "api_proxy": "nginx"})},
		"a host that may have the virtual address": {map[string]string{
			keepalived: "vrrp_instance api {\n  unicast_peer {\n    10.0.0.2\n  }\n  virtual_ipaddress {\n    10.0.0.100/32 dev eth0\n    fd00::9/128 dev eth0 preferred_lft 0\n  }\n}\n",
		}, empty(map[string]any{"virtual_ips": []any{"10.0.0.100", "fd00::9"}})},
		"the network plugin is being changed": {map[string]string{
			kubeletUnit:   "ExecStart=/usr/local/bin/kubelet \\\n  \"--hostname-override=n1\" \\\n",
			kubeletConfig: "clusterDomain: cluster.local\n",
			calicoAccess:  "kind: Config\n",
			formerPlugin:  "bgp\n",
		}, empty(map[string]any{"node": "n1", "domain": "cluster.local", "network_plugin": "bgp", "kube_proxy": "none"})},
		"the network plugin is being changed back": {map[string]string{
			kubeletUnit:   "ExecStart=/usr/local/bin/kubelet \\\n  \"--hostname-override=n1\" \\\n",
			kubeletConfig: "clusterDomain: cluster.local\n",
			birdConfig:    "router id 10.0.0.1;\n",
			formerPlugin:  "calico\n",
		}, empty(map[string]any{"node": "n1", "domain": "cluster.local", "network_plugin": "calico", "kube_proxy": "none"})},
		"a node with Calico": {map[string]string{
			kubeletUnit:   "ExecStart=/usr/local/bin/kubelet \\\n  \"--hostname-override=n1\" \\\n",
			kubeletConfig: "clusterDomain: cluster.local\n",
			calicoAccess:  "kind: Config\n",
			calicoPod:     "spec:\n  initContainers:\n  - name: install-cni\n    image: registry.example:5000/calico/cni:v3.28.4@sha256:00\n  containers:\n  - name: calico-node\n    image: quay.io/calico/node:v3.28.4\n    env:\n    - {name: DATASTORE_TYPE, value: etcdv3}\n",
		}, empty(map[string]any{"node": "n1", "domain": "cluster.local", "network_plugin": "calico", "kube_proxy": "none", "calico_version": "v3.28.4", "calico_datastore": "etcd"})},
		"a host of role proxy": {map[string]string{"/etc/deployer/haproxy.conf": "global\n"}, empty(map[string]any{"api_proxy": "haproxy"})},
		"an API proxy that is being changed": {map[string]string{
			"/etc/kubernetes/proxy/nginx.conf": "events {}\n", "/etc/kubernetes/proxy/haproxy.conf": "global\n",
		}, empty(nil)},
		"an issuer of the user's own":                  {map[string]string{apiServer: "    - \"--service-account-issuer=https://tokens.example\"\n"}, empty(nil)},
		"a kubelet that another program has installed": {map[string]string{kubeletUnit: "ExecStart=/usr/bin/kubelet\n"}, empty(nil)},
	} {
		sys := tasktest.New(t)
		for path, content := range c.files {
			sys.Write(t, path, content, 0o600)
		}
		change := tasktest.Check(t, sys, &Running{})
		if diff := cmp.Diff(c.want, change.Output); diff != "" || change.Needed {
			t.Errorf("%s: needed %t, (- want, + got):\n%s", name, change.Needed, diff)
		}
	}
}
