package addons

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/tasks/control/kube"
)

// memory are files by path.
type memory map[string]string

func (m memory) Dir() string { return "/project" }

func (m memory) LookupEnv(name string) (string, bool) { return "of " + name, name != "NONE" }

func (m memory) AddSecrets(texts []string) { m["secrets"] += strings.Join(texts, " ") }

func (m memory) ReadChart(spec cluster.AddonSpec) ([]byte, string, error) {
	if text, ok := m[spec.Chart+" "+spec.Version]; ok {
		return []byte(text), "digest", nil
	}
	return nil, "digest", ErrUnfetched
}

func (m memory) ReadFile(path string, limit int64) ([]byte, error) {
	text, ok := m[strings.TrimPrefix(path, "/project/")]
	switch {
	case !ok:
		return nil, fs.ErrNotExist
	case int64(len(text)) > limit:
		return nil, errors.New("too large")
	}
	return []byte(text), nil
}

func (m memory) ReadDir(dir string) ([]string, error) {
	dir = strings.TrimPrefix(filepath.Clean(dir), "/project/")
	if _, ok := m[dir]; ok {
		return nil, ErrNoDirectory
	}
	var names []string
	for path := range m {
		rest, ok := strings.CutPrefix(path, filepath.Clean(dir)+"/")
		if name, _, below := strings.Cut(rest, "/"); ok && below {
			names = append(names, name+"/")
		} else if ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, fs.ErrNotExist
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func spec(name string, manifests ...string) cluster.AddonSpec {
	return cluster.AddonSpec{Name: name, Namespace: "shop", Manifests: manifests, Wait: new(true), Timeout: time.Minute}
}

func names(a *Addon) (out []string) {
	for _, o := range a.Objects {
		out = append(out, kube.Describe(o))
	}
	return out
}

const (
	configMap  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: prices}}\n"
	deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: till}}\n"
	crd        = "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: tills.example.org}, spec: {group: example.org, scope: Cluster, names: {kind: Till}}}\n"
	custom     = "{apiVersion: example.org/v1, kind: Till, metadata: {name: first}}\n"
	namespace  = "{apiVersion: v1, kind: Namespace, metadata: {name: shop}}\n"
	webhook    = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: till}}\n"
	role       = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: till}}\n"
)

func TestManifestsOfFilesAndDirectories(t *testing.T) {
	files := memory{
		"a/2.yml": deployment + "---\n" + custom, "a/1.yaml": webhook, "a/3.json": `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "opening"}}`,
		"a/README.md": "no manifest", "a/.hidden.yaml": "none", "a/below/x.yaml": role,
		"b.yaml": configMap + "---\n" + crd + "---\n" + namespace,
	}
	set, err := Read([]cluster.AddonSpec{spec("shop", "a", "b.yaml")}, "v1.36.3", files)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"CustomResourceDefinition tills.example.org", "Namespace shop", "ConfigMap opening", "ConfigMap prices", "Deployment till",
		"ValidatingWebhookConfiguration till", "Till first"}
	if diff := cmp.Diff(want, names(set[0])); diff != "" {
		t.Error(diff)
	}
	again, err := Read([]cluster.AddonSpec{spec("shop", "a", "b.yaml")}, "v1.36.3", files)
	if err != nil || again[0].Digest != set[0].Digest || again[0].Sources != set[0].Sources {
		t.Errorf("the digests of the same files differ: %v", err)
	}
	files["b.yaml"] += "# a comment\n"
	commented, err := Read([]cluster.AddonSpec{spec("shop", "a", "b.yaml")}, "v1.36.3", files)
	if err != nil || commented[0].Digest != set[0].Digest || commented[0].Sources == set[0].Sources {
		t.Errorf("a comment changes what is applied, or not the sources: %v", err)
	}
}

func TestRefusedAddons(t *testing.T) {
	files := memory{
		"one.yaml": configMap, "other.yaml": strings.Replace(configMap, "prices}", "prices, namespace: shop}", 1), "role.yaml": role, "empty.yaml": "# nothing\n",
		"bad.yaml": configMap + "---\nkind: [\n", "unnamed.yaml": "{apiVersion: v1, kind: Pod}", "dir/README": "", "custom.yaml": crd + "---\n" + custom,
		"large.yaml": strings.Repeat("#", maxBytes+1),
	}
	for name, c := range map[string]struct {
		specs []cluster.AddonSpec
		want  string
	}{
		"missing file":   {[]cluster.AddonSpec{spec("a", "none.yaml")}, `add-on "a": reading none.yaml: file does not exist`},
		"no object":      {[]cluster.AddonSpec{spec("a", "empty.yaml")}, "its files contain no object"},
		"empty dir":      {[]cluster.AddonSpec{spec("a", "dir")}, "dir has no file *.yaml"},
		"syntax":         {[]cluster.AddonSpec{spec("a", "bad.yaml")}, "bad.yaml: document 2"},
		"no name":        {[]cluster.AddonSpec{spec("a", "unnamed.yaml")}, "unnamed.yaml: document 1 of the manifests (line 1): the Pod has no metadata.name"},
		"twice":          {[]cluster.AddonSpec{spec("a", "one.yaml", "other.yaml")}, "ConfigMap shop/prices is in its files twice"},
		"two add-ons":    {[]cluster.AddonSpec{spec("a", "one.yaml"), spec("b", "other.yaml")}, `add-on "b": ConfigMap shop/prices is an object of add-on "a", too`},
		"cluster scope":  {[]cluster.AddonSpec{spec("a", "role.yaml"), {Name: "b", Namespace: "other", Manifests: []string{"role.yaml"}, Wait: new(true)}}, "ClusterRole till is an object of add-on"},
		"of its own CRD": {[]cluster.AddonSpec{spec("a", "custom.yaml"), {Name: "b", Namespace: "other", Manifests: []string{"custom.yaml"}, Wait: new(true)}}, "is an object of add-on"},
		"too large":      {[]cluster.AddonSpec{spec("a", "large.yaml")}, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(c.specs, "v1.36.3", files)
			var one *SpecError
			if !errors.As(err, &one) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestImagesToDeliver(t *testing.T) {
	files := memory{"a.yaml": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: till}
spec: {template: {spec: {initContainers: [{image: nginx}], containers: [{image: "quay.io/a/b:v1"}, {image: "quay.io/a/b:v1"}, {image: "registry.example:5000/c:2"}]}}}
---
{apiVersion: example.org/v1, kind: Till, metadata: {name: a}, spec: {podTemplate: {spec: {containers: [{image: docker.io/library/nginx}, {name: none}]}}, image: ignored}}
`, "digest.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{image: \"a:1@sha256:" + strings.Repeat("0", 64) + "\"}]}}\n"}
	deliver := func(file string) cluster.AddonSpec {
		s := spec("shop", file)
		s.Images = cluster.ImagesDeliver
		return s
	}
	set, err := Read([]cluster.AddonSpec{deliver("a.yaml")}, "v1.36.3", files)
	if err != nil {
		t.Fatal(err)
	}
	want := []Image{{"docker.io/library/nginx", "latest"}, {"quay.io/a/b", "v1"}, {"registry.example:5000/c", "2"}}
	if diff := cmp.Diff(want, set[0].Delivered); diff != "" {
		t.Error(diff)
	}
	if _, err := Read([]cluster.AddonSpec{deliver("digest.yaml")}, "v1.36.3", files); err == nil || !strings.Contains(err.Error(), "cannot be delivered") {
		t.Errorf("an image named by its digest: %v", err)
	}
	if set, err := Read([]cluster.AddonSpec{spec("shop", "digest.yaml")}, "v1.36.3", files); err != nil || set[0].Delivered != nil {
		t.Errorf("images that nodes pull: %v", err)
	}
}
