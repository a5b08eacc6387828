package build

import (
	"regexp"
	"strings"
	"testing"

	"deployer/images"
	"deployer/images/imagefile"
)

func catalogueOf(t *testing.T) *images.Catalogue {
	t.Helper()
	c, err := images.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPinsMatchTheCatalogue: every version in the catalogue has its pins. Without
// this test, a raised version without a new go.mod would fail only in a build.
func TestPinsMatchTheCatalogue(t *testing.T) {
	c := catalogueOf(t)
	projects := map[string]struct {
		module func(string) module
		path   string
	}{
		"kubelet":     {kubernetesModule, "k8s.io/kubernetes"},
		"etcd":        {etcdModule, "go.etcd.io/etcd/server/v3"},
		"containerd":  {containerdModule, "github.com/containerd/containerd/v2"},
		"cni-plugins": {cniModule, "github.com/containernetworking/plugins"},
		"coredns":     {corednsModule, "github.com/coredns/coredns"},
	}
	for _, kubernetes := range c.KubernetesVersions() {
		for artifact, project := range projects {
			version, err := c.Version(artifact, kubernetes)
			if err != nil {
				t.Fatal(err)
			}
			m := project.module(version)
			files, err := m.files()
			if err != nil {
				t.Errorf("kubernetes %s: %v", kubernetes, err)
				continue
			}
			required := regexp.MustCompile(`(?m)^(?:require )?\s*` + regexp.QuoteMeta(project.path+" "+version) + `(\s|$)`)
			if !required.Match(files["go.mod"]) {
				t.Errorf("%s does not require %s %s", m.name, project.path, version)
			}
			if !strings.Contains(string(files["go.sum"]), project.path+" "+version+" h1:") {
				t.Errorf("%s: go.sum does not pin %s %s", m.name, project.path, version)
			}
		}
	}
}

// TestPinsOfCalico: the pins, the version that the programs report, and the versions of the
// image files agree.
func TestPinsOfCalico(t *testing.T) {
	m := calicoModule()
	files, err := m.files()
	if err != nil {
		t.Fatal(err)
	}
	required := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(m.path) + ` (v\S+)`).FindStringSubmatch(string(files["go.mod"]))
	if required == nil || !strings.Contains(string(files["go.sum"]), m.path+" "+required[1]+" h1:") {
		t.Errorf("go.mod requires %q, and go.sum does not pin it", required)
	}
	set, err := imagefile.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range catalogueOf(t).Artifacts {
		if a.Set != "calico" || a.Kind != images.KindImage {
			continue
		}
		f, err := set.File(a.Name)
		if err != nil || f.Version != calicoVersion || m.name != "calico-"+f.Version {
			t.Errorf("image %s has version %q (%v), want that of %s", a.Name, f.Version, err, m.name)
		}
	}
}

// TestModuleKey: a change of any input changes the key; equal inputs give equal keys.
func TestModuleKey(t *testing.T) {
	key := func(m module, goVersion, arch string) string {
		k, err := m.key(goVersion, arch)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	c := catalogueOf(t)
	version, err := c.Version("etcd", "")
	if err != nil {
		t.Fatal(err)
	}
	base := etcdModule(version)
	want := key(base, "go1", "amd64")
	if key(base, "go1", "amd64") != want {
		t.Error("the key is not stable")
	}
	tagged, stamped := base, base
	tagged.tags, stamped.ldflags = "x", "x"
	for name, other := range map[string]string{
		"go version": key(base, "go2", "amd64"), "arch": key(base, "go1", "arm64"),
		"tags": key(tagged, "go1", "amd64"), "ldflags": key(stamped, "go1", "amd64"),
		"module": key(cniModule("v1.9.1"), "go1", "amd64"),
	} {
		if other == want {
			t.Errorf("another %s has the same key", name)
		}
	}
	if keyOf("ab", "c") == keyOf("a", "bc") {
		t.Error("inputs run into one another")
	}
}

func TestKubernetesStamp(t *testing.T) {
	got := kubernetesModule("v1.36.3").ldflags
	want := regexp.MustCompile(`version\.gitVersion=v1\.36\.3 .*gitMajor=1 .*gitMinor=36$`)
	if !want.MatchString(got) {
		t.Errorf("ldflags are %q", got)
	}
}

func TestUnknownModuleIsAClearError(t *testing.T) {
	_, err := kubernetesModule("v1.30.0").files()
	if err == nil || !strings.Contains(err.Error(), "no recipe to build kubernetes-v1.30.0") {
		t.Errorf("error is %v", err)
	}
}
