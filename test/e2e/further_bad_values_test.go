//go:build lab

package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestFurtherBadValues tests bad values as badValues does, of kubelets, of containerd and of the components through
// which nodes and pods reach others, and outages of the only API server. The API proxies are nginx.
func TestFurtherBadValues(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 1, Minions: 2})
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "proxy")["kind"] = "nginx" })
	s.Must("install")
	all, minions := []string{"m1", "n1", "n2"}, []string{"n1", "n2"}
	for _, bad := range []badValue{
		{
			name: "the kubelet does not start",
			set: func(inv map[string]any) {
				// The flag is valid by itself, but needs another one, lock-file.
				harness.Section(inv, "cluster", "overrides", "kubelet", "extra_args")["exit-on-lock-contention"] = "true"
			},
			on: all, file: "/etc/systemd/system/kubelet.service", unit: "kubelet",
			step: "kubelet runs", says: []string{"kubelet.service ended"},
		},
		{
			name: "containerd has no such runtime",
			set: func(inv map[string]any) {
				harness.Section(inv, "cluster", "overrides", "containerd", "containerd")["default_runtime_name"] = "nonsense"
			},
			on: all, file: "/etc/containerd/config.toml", unit: "containerd",
			step: "containerd runs a container", says: []string{"unknown service runtime.v1.RuntimeService"},
		},
		{
			name: "kube-proxy cannot listen",
			set: func(inv map[string]any) {
				proxy := harness.Section(inv, "cluster", "overrides", "kube_proxy")
				proxy["metricsBindAddress"] = "192.0.2.1:10249" // no host has this address (RFC 5737)
				proxy["bindAddressHardFail"] = true
			},
			on: all, file: "/etc/kubernetes/kube-proxy.yaml", unit: "kube-proxy",
			step: "the kubelet runs kube-proxy as the manifest says", says: []string{"192.0.2.1"},
		},
		{
			// nginx needs a connection for each socket that listens.
			name: "the API proxy accepts no connection",
			set: func(inv map[string]any) {
				harness.Section(inv, "cluster", "proxy")["worker_connections"] = 1
			},
			on: minions, file: "/etc/kubernetes/proxy/nginx.conf",
			step: "the API proxy uses its configuration", says: []string{"worker_connections"},
		},
		{
			// The other nodes expect the number that they have themselves.
			name: "no BGP session comes up",
			set: func(inv map[string]any) {
				harness.Section(inv, "cluster", "network")["asn"] = 64999
			},
			on: all, file: "/etc/deployer/bird.conf",
			step: "BIRD has its sessions and routes as before", says: []string{"to_"},
		},
	} {
		t.Run(bad.name, func(t *testing.T) { s.on(t).stopsAtOneNode(bad) })
	}
	t.Run("a port on which no API server listens", func(t *testing.T) { wrongPort(s.on(t)) })
	t.Run("a kernel setting that drops SSH", func(t *testing.T) { strictReversePath(s.on(t), all, minions) })
	t.Run("Services answer after two outages", func(t *testing.T) { twoOutages(s.on(t), all) })
	s.Must("verify")
}

// wrongPort runs a playbook of the user that writes a wrong port into the configuration of
// the API proxy. Its rollout has the same gates as the roles of install.
func wrongPort(s *site) {
	minions := []string{"n1", "n2"}
	const file = "/etc/kubernetes/proxy/nginx.conf"
	before, stamps := s.Digests(file, minions), s.stamps(file, minions)
	playbook := filepath.Join(s.T.TempDir(), "proxy.yaml")
	if err := os.WriteFile(playbook, []byte(wrongPortPlaybook), 0o600); err != nil {
		s.T.Fatal(err)
	}
	o := s.Deployer("run", playbook)
	s.RequireExit(o, 6)
	s.RequireTexts(o.All(), `at "the API proxy forwards a request"`, "it was restored", "1 other host was not changed by it")
	if diff := cmp.Diff(before, s.Digests(file, minions)); diff != "" {
		s.T.Errorf("%s (- before, + after): %s", file, diff)
	}
	if touched := s.changed(stamps, s.stamps(file, minions)); len(touched) != 1 {
		s.T.Errorf("%s was written on %v, want one host", file, touched)
	}
	s.RequireReady([]string{"m1", "n1", "n2"})
}

const wrongPortPlaybook = `- hosts: minion
  tasks:
    - name: another port
      rollout: {canary: [minion], max_parallel: 1}
      block:
        - name: ports of the API servers
          replace:
            path: /etc/kubernetes/proxy/nginx.conf
            regexp: ':6443 max_fails'
            replacement: ':6444 max_fails'

        - name: the API proxy uses its configuration
          static_pod_reload:
            manifest: /etc/kubernetes/manifests/api-proxy.yaml
            files: [/etc/kubernetes/proxy/nginx.conf]

        - name: the API proxy forwards a request
          proxy_ready:
            http:
              url: https://127.0.0.1:6443/readyz
              ca: /etc/kubernetes/pki/ca.crt
            manifest: /etc/kubernetes/manifests/api-proxy.yaml
            timeout: 20s
`
