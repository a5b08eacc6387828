package images

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func embeddedCatalogue(t *testing.T) *Catalogue {
	t.Helper()
	c, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEmbeddedAddresses compares the addresses with those of the publishers; an error
// in a template would otherwise appear only on a site with internet.
func TestEmbeddedAddresses(t *testing.T) {
	c := embeddedCatalogue(t)
	got := map[string]string{}
	for _, name := range c.Names() {
		a, err := c.Artifact(name)
		if err != nil {
			t.Fatal(err)
		}
		version, err := c.Version(name, "")
		if err != nil {
			t.Fatal(err)
		}
		ref := Ref{name, version, "arm64"}
		got[name] = strings.TrimSpace(a.ImageName(ref) + a.Address(ref) + " " + a.SumsAddress(ref))
	}
	want := map[string]string{
		"kubelet":                 "https://dl.k8s.io/release/v1.36.3/bin/linux/arm64/kubelet https://dl.k8s.io/release/v1.36.3/bin/linux/arm64/kubelet.sha256",
		"kubectl":                 "https://dl.k8s.io/release/v1.36.3/bin/linux/arm64/kubectl https://dl.k8s.io/release/v1.36.3/bin/linux/arm64/kubectl.sha256",
		"etcd":                    "https://github.com/etcd-io/etcd/releases/download/v3.6.8/etcd-v3.6.8-linux-arm64.tar.gz https://github.com/etcd-io/etcd/releases/download/v3.6.8/SHA256SUMS",
		"containerd":              "https://github.com/containerd/containerd/releases/download/v2.2.1/containerd-2.2.1-linux-arm64.tar.gz https://github.com/containerd/containerd/releases/download/v2.2.1/containerd-2.2.1-linux-arm64.tar.gz.sha256sum",
		"runc":                    "https://github.com/opencontainers/runc/releases/download/v1.3.4/runc.arm64 https://github.com/opencontainers/runc/releases/download/v1.3.4/runc.sha256sum",
		"cni-plugins":             "https://github.com/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-arm64-v1.9.1.tgz https://github.com/containernetworking/plugins/releases/download/v1.9.1/cni-plugins-linux-arm64-v1.9.1.tgz.sha256",
		"kube-apiserver":          "registry.k8s.io/kube-apiserver:v1.36.3",
		"kube-controller-manager": "registry.k8s.io/kube-controller-manager:v1.36.3",
		"kube-scheduler":          "registry.k8s.io/kube-scheduler:v1.36.3",
		"kube-proxy":              "registry.k8s.io/kube-proxy:v1.36.3",
		"coredns":                 "registry.k8s.io/coredns/coredns:v1.14.7",
		"pause":                   "registry.k8s.io/pause:3.10.1",
		"nginx":                   "docker.io/library/nginx:1.28.0",
		"haproxy":                 "docker.io/library/haproxy:3.2.4",
		"calico-node":             "quay.io/calico/node:v3.31.7",
		"calico-cni":              "quay.io/calico/cni:v3.31.7",
		"calico-typha":            "quay.io/calico/typha:v3.31.7",
		"calico-kube-controllers": "quay.io/calico/kube-controllers:v3.31.7",
		"calicoctl":               "https://github.com/projectcalico/calico/releases/download/v3.31.7/calicoctl-linux-arm64 https://github.com/projectcalico/calico/releases/download/v3.31.7/SHA256SUMS",
		"calico-crds":             "https://raw.githubusercontent.com/projectcalico/calico/v3.31.7/manifests/crds.yaml",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	etcd, err := c.Artifact("etcd")
	if err != nil {
		t.Fatal(err)
	}
	members := etcd.MemberPaths(Ref{"etcd", "v3.6.8", "amd64"})
	if members[0] != "etcd-v3.6.8-linux-amd64/etcd" {
		t.Errorf("members are %q", members)
	}
}

func TestReadCatalogueRefuses(t *testing.T) {
	const good = `{name: a, kind: file, url: "https://x/{version}", sums: "https://x/{version}.sha256"}`
	tests := []struct{ name, content, err string }{
		{"unknown key", "default: v1\nreleases: {v1: {a: 1}}\nartifacts:\n- {name: a, knd: file}", "line 4: field knd not found"},
		{"unknown kind", "default: v1\nreleases: {v1: {a: 1}}\nartifacts:\n- {name: a, kind: rpm}", `unknown kind "rpm"`},
		{"twice", "default: v1\nreleases: {v1: {a: 1}}\nartifacts:\n- " + good + "\n- " + good, "listed twice"},
		{"no sums", "default: v1\nreleases: {v1: {a: 1}}\nartifacts:\n- {name: a, kind: file, url: \"https://x/y\"}", "must be full addresses"},
		{"archive without members", "default: v1\nreleases: {v1: {a: 1}}\nartifacts:\n- {name: a, kind: archive, url: \"https://x/y\", sums: \"https://x/z\"}", "must name its members"},
		{"sums and digests", "default: v1\nreleases: {v1: {a: 1}}\nartifacts:\n- {name: a, kind: file, url: \"https://x/y\", sums: \"https://x/z\", digests: {v1: ab}}", "exclude each other"},
		{"short digest", "default: v1\nreleases: {v1: {a: 1}}\nartifacts:\n- {name: a, kind: file, url: \"https://x/y\", digests: {v1: ab}}", "digest of v1 is not a SHA-256"},
		{"set with the name of an artifact", "default: v1\nreleases: {v1: {a: 1}}\nartifacts:\n- " + good + "\n- {name: b, kind: image, set: a, image: \"x:{version}\"}", "the set a has the name of an artifact"},
		{"set that follows", "default: v1\nreleases: {v1: {}}\nartifacts:\n- {name: a, kind: image, set: s, follows: kubernetes, image: \"x:{version}\"}", "follows and set exclude each other"},
		{"no version of a set", "default: v1\nreleases: {v1: {}}\nartifacts:\n- {name: a, kind: image, set: s, image: \"x:{version}\"}", "release v1: no version for a"},
		{"version of a member", "default: v1\nreleases: {v1: {s: 1, a: 1}}\nartifacts:\n- {name: a, kind: image, set: s, image: \"x:{version}\"}", "release v1: no artifact a"},
		{"image without tag", "default: v1\nreleases: {v1: {a: 1}}\nartifacts:\n- {name: a, kind: image, image: x/y}", "must end in :{version}"},
		{"no version", "default: v1\nreleases: {v1: {}}\nartifacts:\n- " + good, "release v1: no version for a"},
		{"unknown artifact", "default: v1\nreleases: {v1: {a: 1, b: 2}}\nartifacts:\n- " + good, "release v1: no artifact b"},
		{"unknown default", "default: v2\nreleases: {v1: {a: 1}}\nartifacts:\n- " + good, "default v2 is not among"},
		{"follows something else", "default: v1\nreleases: {v1: {}}\nartifacts:\n- {name: a, kind: image, follows: etcd, image: \"x:{version}\"}", `follows "etcd"`},
	}
	for _, test := range tests {
		if _, err := ReadCatalogue(strings.NewReader(test.content)); err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.err)
		}
	}
}

// fixedVersions is a source that has some artifacts in other versions.
type fixedVersions struct {
	Source
	versions map[string]string
}

func (s fixedVersions) Versions() map[string]string { return s.versions }

func TestRefsPrecedence(t *testing.T) {
	r := &Resolver{Catalogue: embeddedCatalogue(t), Source: fixedVersions{versions: map[string]string{"runc": "1.1.5", "nginx": "1.22.1", "calico": "v3.28.4"}}}
	refs, err := r.Refs("v1.35.4", "amd64", map[string]string{"nginx": "1.29.0"}, "kubelet", "etcd", "runc", "nginx", "calico-cni", "calicoctl")
	if err != nil {
		t.Fatal(err)
	}
	want := []Ref{
		{"kubelet", "v1.35.4", "amd64"}, // the release itself
		{"etcd", "v3.6.8", "amd64"},     // the catalogue
		{"runc", "1.1.5", "amd64"},      // the source
		{"nginx", "1.29.0", "amd64"},    // the override, before the source
		{"calico-cni", "v3.28.4", "amd64"},
		{"calicoctl", "v3.28.4", "amd64"}, // the source, for all artifacts of the set
	}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Error(diff)
	}
	if all, err := r.Refs("", "amd64", nil); err != nil || len(all) != len(r.Catalogue.Artifacts) {
		t.Errorf("all refs: %v (%v)", all, err)
	}
	for name, call := range map[string]func() ([]Ref, error){
		"kubernetes v1.9.9 is not in the catalogue, there are v1.35.4, v1.36.3": func() ([]Ref, error) { return r.Refs("v1.9.9", "amd64", nil) },
		`no artifact "kubelett"`: func() ([]Ref, error) { return r.Refs("", "amd64", nil, "kubelett") },
		`no artifact "ngnix"`:    func() ([]Ref, error) { return r.Refs("", "amd64", map[string]string{"ngnix": "1"}) },
		"plain words":            func() ([]Ref, error) { return r.Refs("", "amd64", map[string]string{"nginx": "../../x"}) },
	} {
		if _, err := call(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}

func TestParseSums(t *testing.T) {
	digest, other := hexOf([]byte("x")), hexOf([]byte("y"))
	tests := []struct{ name, content, want string }{
		{"bare", digest, digest},
		{"bare, upper case, newline", strings.ToUpper(digest) + "\n", digest},
		{"one line", digest + "  tool\n", digest},
		{"several lines", other + "  tool.asc\n" + digest + "  tool\n", digest},
		{"binary mark and directory", other + " *dist/other\n" + digest + " *./dist/tool\n", digest},
		{"another file only", digest + "  tool2\n", ""},
		{"two bare digests", digest + "\n" + other + "\n", ""},
		{"bare among text", "the digest follows\n" + digest + "\n", ""},
		{"too short", digest[:40] + "  tool\n", ""},
		{"empty", "", ""},
	}
	for _, test := range tests {
		got, err := parseSums([]byte(test.content), "tool")
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q (%v), want %q", test.name, got, err, test.want)
		}
	}
}
