package cluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
)

// TestExplain checks the values of settings in clusters of several sizes.
func TestExplain(t *testing.T) {
	for nodes, want := range map[int]map[string]string{
		1: {"cluster.size": "small", "apiserver.max-requests-inflight": "400", "dns.replicas": "1", "apiserver.shutdown-delay-duration": "0s",
			"network.sessions": "mesh", "sysctl.net.ipv4.neigh.default.gc_thresh3": "1024", "cluster.pod_cidr": "10.244.0.0/16"},
		5:   {"cluster.size": "small", "dns.replicas": "2", "apiserver.shutdown-delay-duration": "3s", "etcd.quota-backend-bytes": "2 GiB"},
		100: {"cluster.size": "medium", "network.sessions": "reflectors n1, n2, n3", "sysctl.net.ipv4.neigh.default.gc_thresh1": "128"},
		101: {"cluster.size": "large", "sysctl.net.ipv4.neigh.default.gc_thresh1": "4096"},
		1000: {"cluster.size": "xlarge", "apiserver.max-requests-inflight": "1500", "dns.replicas": "32", "dns.memory_limit": "512 MiB", "dns.cache_size": "10000",
			"proxy.check_interval": "5s", "controller_manager.kube-api-qps": "200", "cluster.pod_cidr": "10.128.0.0/9"},
	} {
		c, err := cluster.WhatIf(nodes)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range c.Explain() {
			if _, ok := want[e.Setting]; ok {
				got[e.Setting] = e.Value
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d nodes:\n%s", nodes, diff)
		}
	}
}

// TestExplainIsWhatComponentsGet: what is explained is in the flags and files of the components.
func TestExplainIsWhatComponentsGet(t *testing.T) {
	for _, nodes := range []int{1, 5, 50, 300, 1000} {
		c, err := cluster.WhatIf(nodes)
		if err != nil {
			t.Fatal(err)
		}
		master := c.Nodes["n1"]
		flags := map[string][]string{
			"apiserver": master.Args.APIServer, "controller_manager": master.Args.ControllerManager, "scheduler": master.Args.Scheduler,
		}
		for _, e := range c.Explain() {
			component, name, _ := strings.Cut(e.Setting, ".")
			args, ok := flags[component]
			if !ok || e.Value == "0s" {
				continue
			}
			if text := strings.Join(args, " "); !strings.Contains(text, "--"+name+"="+e.Value) {
				t.Errorf("%d nodes: %s is explained as %s, and the flags are %s", nodes, e.Setting, e.Value, text)
			}
		}
	}
}

// TestExplainTheInventory: a value of the inventory is explained as such.
func TestExplainTheInventory(t *testing.T) {
	spec := cluster.Spec{
		Overrides: map[string]any{"apiserver": map[string]any{"extra_args": map[string]any{"max-requests-inflight": 2000}}},
		DNS:       cluster.DNSSpec{Replicas: 6},
		Sysctls:   map[string]string{"net.ipv4.neigh.default.gc_thresh3": "2048"},
		Proxy:     cluster.ProxySpec{CheckInterval: time.Second},
		Etcd:      cluster.EtcdSpec{QuotaBackendBytes: 1e9},
	}
	got := map[string][2]string{}
	for _, e := range mustResolve(t, spec, fleet(masters(3), minions(2))).Explain() {
		if by, ok := strings.CutPrefix(e.Reason, "set in the inventory; by the size of the cluster it would be "); ok {
			got[e.Setting] = [2]string{e.Value, by}
		}
	}
	want := map[string][2]string{
		"apiserver.max-requests-inflight": {"2000", "400"}, "dns.replicas": {"6", "2"}, "proxy.check_interval": {"1s", "2s"},
		"sysctl.net.ipv4.neigh.default.gc_thresh3": {"2048", "1024"}, "etcd.quota-backend-bytes": {"1000000000 bytes", "2 GiB"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestExplanationsAreComplete: each has a reason, a source and a way to another value, once.
func TestExplanationsAreComplete(t *testing.T) {
	c, err := cluster.WhatIf(1000)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, e := range c.Explain() {
		if e.Value == "" || e.Default == "" || e.Reason == "" || e.Source == "" || !(strings.HasPrefix(e.Override, "cluster.") || e.Override == "hosts.NAME.labels") || seen[e.Setting] {
			t.Errorf("incomplete, or there twice: %+v", e)
		}
		seen[e.Setting] = true
	}
}

func TestWhatIfBounds(t *testing.T) {
	for _, nodes := range []int{0, -1, cluster.MaxNodes + 1} {
		if _, err := cluster.WhatIf(nodes); err == nil {
			t.Errorf("%d nodes are accepted", nodes)
		}
	}
	if c, err := cluster.WhatIf(cluster.MaxNodes); err != nil || c.Size.Nodes != cluster.MaxNodes {
		t.Errorf("%d nodes: %v", cluster.MaxNodes, err)
	}
}
