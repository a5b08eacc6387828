package cluster_test

import (
	"strings"
	"testing"

	"deployer/cluster"
)

func TestIntrusive(t *testing.T) {
	change := func(component, from, to string) []cluster.VersionChange {
		return []cluster.VersionChange{{Host: "n1", Component: component, From: from, To: to}}
	}
	static := cluster.PolicyChanges(nil, map[string]any{"cpuManagerPolicy": "static", "memoryManagerPolicy": "None"})
	for name, c := range map[string]struct {
		work cluster.NodeWork
		want string
	}{
		"nothing":                      {cluster.NodeWork{HostPorts: []string{"a/b"}}, ""},
		"kubelet patch":                {cluster.NodeWork{Changes: change("kubelet", "v1.36.1", "v1.36.3"), HostPorts: []string{"a/b"}}, ""},
		"kubelet minor":                {cluster.NodeWork{Changes: change("kubelet", "v1.35.4", "v1.36.3")}, "kubelet changes from v1.35.4 to v1.36.3"},
		"kube-proxy minor":             {cluster.NodeWork{Changes: change("kube-proxy", "v1.35.4", "v1.36.3")}, ""},
		"containerd patch":             {cluster.NodeWork{Changes: change("containerd", "v2.2.0", "v2.2.1")}, ""},
		"containerd patch, host ports": {cluster.NodeWork{Changes: change("containerd", "v2.2.0", "v2.2.1"), HostPorts: []string{"a/b"}}, "under pods with host ports: a/b"},
		"runc, host ports":             {cluster.NodeWork{Changes: change("runc", "v1.3.3", "v1.3.4"), HostPorts: []string{"a/b"}}, "runc changes"},
		"containerd minor":             {cluster.NodeWork{Changes: change("containerd", "v2.1.5", "v2.2.1")}, "containerd changes"},
		"CPU manager":                  {cluster.NodeWork{Policies: static}, "cpuManagerPolicy changes from none to static"},
		"cordoned by a killed run":     {cluster.NodeWork{Cordoned: true}, "cordoned"},
	} {
		got := strings.Join(c.work.Intrusive(), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if len(static) != 1 || static[0].StateFile() != "/var/lib/kubelet/cpu_manager_state" {
		t.Errorf("policies: %v", static)
	}
	if got := cluster.PolicyChanges(map[string]string{"memoryManagerPolicy": "Static"}, nil); len(got) != 1 || got[0].To != "none" {
		t.Errorf("policies: %v", got)
	}
	node := cluster.Node{IsNode: true, KubeletConfig: map[string]any{"cpuManagerPolicy": "static"}}
	if got := cluster.RefusePolicies("n1", map[string]string{}, node); len(got) != 1 || got[0].Code != cluster.CodeUpgrade {
		t.Errorf("refused: %v", got)
	}
	if got := cluster.RefusePolicies("n1", nil, node); len(got) > 0 {
		t.Errorf("a host without a kubelet is refused: %v", got)
	}
}
