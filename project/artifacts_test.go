package project_test

import (
	"strings"
	"testing"

	"deployer/images"
	"deployer/project"

	"github.com/google/go-cmp/cmp"
)

// TestImageDigests checks that images have the digest of their manifest, which no source
// changes, and that binaries have none.
func TestImageDigests(t *testing.T) {
	inDir(t, map[string]string{"inventory.yaml": cluster})
	p, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.ImageDigests(); len(got) != 0 {
		t.Errorf("digests without a lock file: %v", got)
	}
	for _, ref := range p.Needed {
		pin := images.Pin{Ref: ref, SHA256: "archive"}
		if ref.Name == "coredns" {
			pin.Manifest = "sha256:manifest"
		}
		if ref.Name == "coredns" || ref.Name == "pause" || ref.Name == "kubelet" {
			p.Artifacts.Lock.Put(pin)
		}
	}
	want := map[string]map[string]string{
		"registry.k8s.io/coredns/coredns:v1.14.7": {"amd64": "sha256:manifest"}, "registry.k8s.io/pause:3.10.1": {"amd64": "sha256:archive"},
	}
	if diff := cmp.Diff(want, p.ImageDigests()); diff != "" {
		t.Error(diff)
	}
}

// TestSetsOfArtifacts checks that a cluster with another network plugin needs no artifact of
// Calico, and that the names of its images are known.
func TestSetsOfArtifacts(t *testing.T) {
	inDir(t, map[string]string{"inventory.yaml": cluster})
	p, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range p.Needed {
		if a, err := p.Artifacts.Catalogue.Artifact(ref.Name); err != nil || a.Set != "" {
			t.Errorf("%s is needed (%v)", ref, err)
		}
	}
	if got := project.ClusterVersions(p.Cluster)["calico-node"]; got != "v3.31.7" {
		t.Errorf("the version of Calico is %q", got)
	}
}

// TestArtifactsOfEveryVersion checks that the artifacts of all versions that hosts need
// are listed, and that images and digests of a host are those of its versions.
func TestArtifactsOfEveryVersion(t *testing.T) {
	inDir(t, map[string]string{"inventory.yaml": "cluster: {overrides: {kubelet: {version: v1.35.4}}}\nroles: {master: m1, minion: n1}\n" +
		"hosts: {m1: {address: 10.0.0.1}, n1: {address: 10.0.0.2, overrides: {kube_proxy: {version: v1.35.4}}}}\n"})
	p, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, ref := range p.Needed {
		got[ref.Name] = append(got[ref.Name], ref.Version)
		p.Artifacts.Lock.Put(images.Pin{Ref: ref, SHA256: "archive", Manifest: "sha256:" + ref.Version})
	}
	for name, want := range map[string][]string{"kubelet": {"v1.35.4"}, "kube-proxy": {"v1.36.3", "v1.35.4"}, "kubectl": {"v1.36.3"}, "kube-apiserver": {"v1.36.3"}} {
		if diff := cmp.Diff(want, got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	v, err := p.Variables()
	if err != nil {
		t.Fatal(err)
	}
	v.SetImageDigests(p.ImageDigests())
	for host, version := range map[string]string{"m1": "v1.36.3", "n1": "v1.35.4"} {
		vars := v.ForHost(host)
		ref, digest := vars["images"].(map[string]any)["kube-proxy"], vars["image_digests"].(map[string]any)["kube-proxy"]
		if diff := cmp.Diff([]any{"registry.k8s.io/kube-proxy:" + version, map[string]any{"amd64": "sha256:" + version}}, []any{ref, digest}); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
}

// TestPositionsOfVersions checks that a bad version has the place of the host or group
// that sets it, once for all its hosts.
func TestPositionsOfVersions(t *testing.T) {
	for inventory, want := range map[string]string{
		"roles: {master: m1, minion: [n1, n2]}\nhosts: {m1: {address: 10.0.0.1}, n1: {address: 10.0.0.2}, n2: {address: 10.0.0.3}}\n" +
			"groups: {old: {hosts: [n1, n2], overrides: {kubelet: {version: v1.20.1}}}}\n": "inventory.yaml:3:55: n1: overrides.kubelet.version: v1.20.1 is not among",
		"roles: {master: m1}\nhosts: {m1: {address: 10.0.0.1}}\ncluster:\n  overrides: {kubelet: {version: 1.20}}\n": "inventory.yaml:4:25: cluster.overrides.kubelet.version: 1.2 is not a version",
	} {
		inDir(t, map[string]string{"inventory.yaml": inventory})
		_, err := project.LoadCluster("inventory.yaml", project.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
