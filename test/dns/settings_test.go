//go:build lab

package dns

import (
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestSettings gives cluster DNS stub domains, hosts, rewrites and parts of a Corefile while pods resolve
// names, and a Corefile that CoreDNS refuses.
func TestSettings(t *testing.T) {
	s := harness.New(t, "dns", plan.Spec{Masters: 1, Minions: 2})
	s.Must("install")
	c := newClients(s, "n1", "n2")
	defer c.hold("n1")()
	require := func(name, want string) {
		t.Helper()
		s.Eventually(settled, name+" has the address "+want, func() error {
			if got := c.resolve("n1", name); !strings.Contains(got, want) {
				return errorOf(got)
			}
			return nil
		})
	}
	require(outsideName, s.Address("m1"))
	require(kubernetesName, "10.96.0.1")

	s.Edit(func(inv map[string]any) {
		dns := harness.Section(inv, "cluster", "dns")
		dns["upstreams"] = []any{"172.31.0.250"} // no server: names outside come from the stub domain
		dns["stub_domains"] = map[string]any{"lab.test": []any{"172.31.0.1"}}
		dns["hosts"] = map[string]any{"registry.corp.example": []any{"192.0.2.5"}}
		dns["rewrites"] = []any{
			map[string]any{"from": "api.example.com", "to": "kubernetes.default.svc.cluster.local"},
			map[string]any{"match": "suffix", "from": ".prod.example.com", "to": ".lab.test"},
		}
		dns["extra_servers"] = "own.example:53 {\n    hosts {\n        192.0.2.6 a.own.example\n    }\n}\n"
	})
	c.while("another Corefile", 0, func() { s.Must("install") })
	require(outsideName, s.Address("m1"))
	require("registry.corp.example.", "192.0.2.5")
	require("api.example.com.", "10.96.0.1")
	require("n1.prod.example.com.", s.Address("n1"))
	require("a.own.example.", "192.0.2.6")
	s.RequireTexts(s.Must("install").All(), "0 changed")

	before := s.Kubectl("m1", "-n kube-system get configmap coredns -o jsonpath={.data.Corefile}")
	s.Edit(func(inv map[string]any) {
		harness.Section(inv, "cluster", "dns")["extra_plugins"] = "forwad . 10.0.0.1\n"
	})
	c.while("a Corefile that CoreDNS refuses", 0, func() {
		o := s.Deployer("install")
		if o.Code == 0 {
			t.Error("a Corefile with an unknown plugin is accepted")
		}
		s.RequireTexts(o.All(), "cluster DNS keeps its Corefile", "forwad")
	})
	if after := s.Kubectl("m1", "-n kube-system get configmap coredns -o jsonpath={.data.Corefile}"); after != before {
		t.Errorf("a refused Corefile is in the cluster:\n%s", after)
	}
	if left := s.Kubectl("m1", "-n kube-system get pods,configmaps -l deployer/check -o name"); left != "" {
		t.Errorf("left: %s", left)
	}
}
