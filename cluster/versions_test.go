package cluster_test

import (
	"os"
	"strings"
	"testing"

	"deployer/cluster"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

func TestCheckSkew(t *testing.T) {
	cases := []struct {
		name, wanted, component, version, says string
	}{
		{"same", "v1.36.3", "kube-apiserver", "v1.36.3", ""},
		{"patch back", "v1.36.1", "kube-apiserver", "v1.36.3", ""},
		{"one minor", "v1.36.3", "kube-apiserver", "v1.35.4", ""},
		{"two minors", "v1.36.3", "kube-apiserver", "v1.34.0", "go to v1.35 first"},
		{"minor back", "v1.35.4", "kube-apiserver", "v1.36.3", "cannot read what was stored"},
		{"scheduler one older", "v1.36.3", "kube-scheduler", "v1.35.4", ""},
		{"controller manager two older", "v1.36.3", "kube-controller-manager", "v1.34.4", "2 minor versions newer"},
		{"kubelet three older", "v1.36.3", "kubelet", "v1.33.0", ""},
		{"kubelet four older", "v1.36.3", "kubelet", "v1.32.0", "more than 3"},
		{"kubelet newer", "v1.35.4", "kubelet", "v1.36.3", "newer than the API server"},
		{"kube-proxy newer", "v1.35.4", "kube-proxy", "v1.36.0", "newer than the API server"},
		{"major", "v2.0.0", "kubelet", "v1.36.0", "another major version"},
		{"nonsense", "v1.36.3", "kubelet", "latest", "not a version"},
		{"unknown", "v1.36.3", "etcd", "v3.6.8", "not a component"},
		{"bad target", "newest", "kubelet", "v1.36.3", "not a version"},
	}
	for _, tc := range cases {
		got := cluster.CheckSkew(tc.wanted, []cluster.Running{{Host: "h", Component: tc.component, Version: tc.version}})
		switch {
		case tc.says == "" && len(got) > 0:
			t.Errorf("%s: %v", tc.name, got)
		case tc.says != "" && (len(got) != 1 || !strings.Contains(got[0].Message, tc.says)):
			t.Errorf("%s: want one problem that says %q, got %v", tc.name, tc.says, got)
		}
	}
}

// The versions that a cluster asks for are those that the catalogue offers.
func TestVersionsAgreeWithTheCatalogue(t *testing.T) {
	text, err := os.ReadFile("../images/catalogue.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var catalogue struct {
		Default  string                       `yaml:"default"`
		Releases map[string]map[string]string `yaml:"releases"`
	}
	if err := yaml.Unmarshal(text, &catalogue); err != nil {
		t.Fatal(err)
	}
	if catalogue.Default != cluster.DefaultKubernetes {
		t.Errorf("default is %s, the catalogue's is %s", cluster.DefaultKubernetes, catalogue.Default)
	}
	if len(catalogue.Releases) < len(cluster.SupportedKubernetes()) {
		t.Errorf("%d releases for %v", len(catalogue.Releases), cluster.SupportedKubernetes())
	}
	for version, want := range catalogue.Releases {
		v := mustResolve(t, cluster.Spec{Kubernetes: version}, masters(1)).Versions
		got := map[string]string{
			"etcd": v.Etcd, "containerd": v.Containerd, "runc": v.Runc, "cni-plugins": v.CNI,
			"coredns": v.CoreDNS, "pause": v.Pause, "nginx": v.Nginx, "haproxy": v.HAProxy,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: catalogue and cluster disagree (-catalogue +cluster):\n%s", version, diff)
		}
	}
}
