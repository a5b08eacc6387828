package cluster_test

import (
	"os"
	"testing"

	"deployer/cluster"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

// TestVersionsAgreeWithTheCatalogue: the catalogue offers the versions that a cluster
// requests.
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
			"calico": v.Calico,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: catalogue and cluster disagree (-catalogue +cluster):\n%s", version, diff)
		}
	}
}
