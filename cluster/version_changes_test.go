package cluster_test

import (
	"slices"
	"strings"
	"testing"

	"deployer/cluster"

	"github.com/google/go-cmp/cmp"
)

// TestNodeVersions checks how overrides of cluster and host set the versions of a host,
// and that images and flags follow them.
func TestNodeVersions(t *testing.T) {
	version := func(component, version string) map[string]any {
		return map[string]any{component: map[string]any{"version": version}}
	}
	hosts := fleet(masters(3), minions(2))
	hosts[0].Overrides = version("etcd", "v3.5.26")
	hosts[4].Overrides = version("kubelet", "v1.35.0")
	c := mustResolve(t, cluster.Spec{Overrides: version("kubelet", "v1.35.4")}, hosts)
	want := map[string]cluster.NodeVersions{
		"m1": {APIServer: "v1.36.3", ControllerManager: "v1.36.3", Scheduler: "v1.36.3", Kubelet: "v1.35.4", KubeProxy: "v1.36.3", Containerd: "v2.2.1", Etcd: "v3.5.26"},
		"m2": {APIServer: "v1.36.3", ControllerManager: "v1.36.3", Scheduler: "v1.36.3", Kubelet: "v1.35.4", KubeProxy: "v1.36.3", Containerd: "v2.2.1", Etcd: "v3.6.8"},
		"n1": {Kubelet: "v1.35.4", KubeProxy: "v1.36.3", Containerd: "v2.2.1"},
		"n2": {Kubelet: "v1.35.0", KubeProxy: "v1.36.3", Containerd: "v2.2.1"},
	}
	for host, versions := range want {
		if diff := cmp.Diff(versions, c.Nodes[host].Versions); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
	if _, has := c.Nodes["n2"].KubeletConfig["version"]; has {
		t.Error("the version is part of the kubelet's configuration")
	}
	flag := func(host, name string) bool {
		return strings.Contains(strings.Join(c.Nodes[host].Args.Etcd, " "), "--"+name)
	}
	if !flag("m1", "experimental-initial-corrupt-check") || flag("m2", "experimental-initial-corrupt-check") {
		t.Error("the flags of etcd do not follow the version of the host")
	}
	hosts[1].Overrides = version("scheduler", "v1.35.4")
	c = mustResolve(t, cluster.Spec{}, hosts)
	if got := c.Nodes["m2"].Images[2]; got != (cluster.Image{Name: "kube-scheduler", Version: "v1.35.4"}) {
		t.Errorf("image %v", got)
	}
}

// TestRefuseChanges checks the changes that install refuses on hosts in use, and the
// limits of CheckUpgrade.
func TestRefuseChanges(t *testing.T) {
	hosts := fleet(masters(1), minions(2))
	at := func(s cluster.Spec) []cluster.Running { return mustResolve(t, s, hosts).Wanted() }
	v135, v136 := at(cluster.Spec{Kubernetes: "v1.35.4"}), at(cluster.Spec{Kubernetes: "v1.36.3"})
	patch := at(cluster.Spec{Kubernetes: "v1.36.1"})
	etcd35 := at(cluster.Spec{Kubernetes: "v1.35.4", Versions: cluster.Versions{Etcd: "v3.5.24"}})
	codes := func(p cluster.Problems) string {
		var out []string
		for _, one := range p {
			out = append(out, one.Code+" "+one.Subject)
		}
		return strings.Join(out, ", ")
	}
	all := func(code string) string {
		return code + " m1, " + code + " m1, " + code + " m1, " + code + " m1, " + code + " m1"
	}
	for name, c := range map[string]struct {
		found, wanted    []cluster.Running
		refused, upgrade string
	}{
		"nothing found":      {nil, v136, "", ""},
		"equal":              {v136, v136, "", ""},
		"minor upgrade":      {v135, v136, all("upgrade"), ""},
		"patch upgrade":      {patch, v136, all("upgrade"), ""},
		"downgrade":          {v136, v135, all("downgrade"), all("downgrade")},
		"etcd before 3.5.26": {etcd35, v135, "upgrade m1", "version-skew m1"},
		"a joining minion":   {v136[:7], v136, "", ""},
	} {
		if got := codes(cluster.RefuseChanges(c.found, c.wanted)); got != c.refused {
			t.Errorf("%s: refused by install: %q, want %q", name, got, c.refused)
		}
		if got := codes(cluster.CheckUpgrade(c.found, c.wanted)); got != c.upgrade {
			t.Errorf("%s: refused by upgrade: %q, want %q", name, got, c.upgrade)
		}
	}
	if got := cluster.CheckUpgrade(v135, v136, "kube-apiserver"); len(got) > 0 {
		t.Errorf("API servers alone: %v", got)
	}
	if got := codes(cluster.CheckUpgrade(v135, v136, "kubelet")); got != "version-skew m1, version-skew n1" {
		t.Errorf("kubelets alone: %q", got)
	}
	changes := cluster.VersionChanges(v135, v136)
	if got := cluster.Irreversible(changes); len(got) != 1 || got[0].Component != "kube-apiserver" || len(changes) != 9 {
		t.Errorf("irreversible: %v of %d", got, len(changes))
	}
	if got := cluster.Irreversible(cluster.VersionChanges(patch, v136)); len(got) > 0 {
		t.Errorf("a patch is irreversible: %v", got)
	}
}

// TestNotJoined checks that a host counts as not joined when it has no component, or
// lacks one that its roles require, and that other missing components do not count.
func TestNotJoined(t *testing.T) {
	has := func(host string, components ...string) (out []cluster.Running) {
		for _, c := range components {
			out = append(out, cluster.Running{Host: host, Component: c, Version: "v1.35.4"})
		}
		return out
	}
	wanted := slices.Concat(has("m1", "etcd", "kube-apiserver", "kubelet"), has("m2", "etcd", "kube-apiserver", "kubelet", "kube-proxy"), has("n1", "kubelet", "kube-proxy"), has("n2", "kubelet"))
	found := slices.Concat(has("m1", "etcd", "kube-apiserver", "kubelet"), has("m2", "kubelet"), has("n1", "kubelet"))
	var got []string
	for _, p := range cluster.NotJoined(found, wanted) {
		got = append(got, p.Subject+" "+p.Code+" "+p.Message[:strings.Index(p.Message, ":")])
	}
	if diff := cmp.Diff([]string{"m2 join etcd was not found", "n2 join kubelet was not found"}, got); diff != "" {
		t.Error(diff)
	}
}
