package addons

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
)

func kustomized(dir string) cluster.AddonSpec {
	return cluster.AddonSpec{Name: "shop", Namespace: "shop", Kustomize: dir, Wait: new(true), Timeout: time.Minute}
}

func TestKustomization(t *testing.T) {
	files := memory{
		"base/kustomization.yaml": "resources: [till.yaml, role.yaml]\n",
		"base/till.yaml":          deployment,
		"base/role.yaml":          role,
		"lib/kustomization.yml":   "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\npatches: [{path: patch.yaml}]\n",
		"lib/patch.yaml":          "{apiVersion: apps/v1, kind: Deployment, metadata: {name: till}, spec: {replicas: 3}}\n",
		"over/kustomization.yaml": "namespace: stock\nnamePrefix: my-\nresources: [../base]\ncomponents: [../lib]\nlabels: [{pairs: {url: a}, includeSelectors: false}]\nconfigMapGenerator: [{name: prices, files: [list=prices.txt], envs: [more.env]}]\nimages: [{name: a, newName: registry.example/a}]\ncommonAnnotations: {docs: \"https://example.org\"}\n",
		"over/prices.txt":         "tea: 3\n",
		"over/more.env":           "COFFEE=4\n",
	}
	set, err := Read([]cluster.AddonSpec{kustomized("over")}, "v1.36.3", files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap stock/my-prices-", "ClusterRole my-till", "Deployment stock/my-till"}, cutHash(names(set[0]))); diff != "" {
		t.Error(diff)
	}
	if n, _, _ := unstructured.NestedFieldNoCopy(set[0].Objects[2].Object, "spec", "replicas"); n != 3.0 {
		t.Errorf("the component has not patched the Deployment: %v", set[0].Objects[2])
	}
	moved := elsewhere{files}
	again, err := Read([]cluster.AddonSpec{kustomized("over")}, "v1.36.3", moved)
	if err != nil || again[0].Sources != set[0].Sources || again[0].Digest != set[0].Digest {
		t.Errorf("the digests depend on the directory: %v", err)
	}
}

// elsewhere are the same files in another directory.
type elsewhere struct{ memory }

func (elsewhere) Dir() string { return "/other" }

func (e elsewhere) ReadFile(path string, limit int64) ([]byte, error) {
	return e.memory.ReadFile(strings.Replace(path, "/other/", "/project/", 1), limit)
}

func (e elsewhere) ReadDir(path string) ([]string, error) {
	return e.memory.ReadDir(strings.Replace(path, "/other/", "/project/", 1))
}

// cutHash removes the hash that kustomize appends to the name of a generated object.
func cutHash(names []string) []string {
	for i, name := range names {
		if at := strings.Index(name, "prices-"); at >= 0 {
			names[i] = name[:at+len("prices-")]
		}
	}
	return names
}

// TestKustomizationsThatAreRefused: nothing leaves the files of the project. The addresses are
// reserved, so that a request would fail in another way, after a time.
func TestKustomizationsThatAreRefused(t *testing.T) {
	const network = "bases and files of the network are not read"
	for name, c := range map[string]struct{ kustomization, want string }{
		"http base":           {"resources: [\"https://192.0.2.1/base.yaml\"]\n", network},
		"upper case":          {"resources: [\"HTTPS://192.0.2.1/base.yaml\"]\n", network},
		"git base":            {"resources: [\"git@192.0.2.1:a/b.git\"]\n", network},
		"short git base":      {"resources: [\"github.com/a/b//c?ref=main\"]\n", network},
		"old key":             {"bases: [github.com/a/b]\n", network},
		"component":           {"components: [\"ssh://192.0.2.1/a\"]\n", network},
		"patch":               {"patches: [{path: \"http://192.0.2.1/p.yaml\"}]\n", network},
		"replacement":         {"replacements: [{path: \"http://192.0.2.1/p.yaml\"}]\n", network},
		"generated":           {"configMapGenerator: [{name: a, files: [\"k=http://192.0.2.1/p\"]}]\n", network},
		"environment":         {"secretGenerator: [{name: a, envs: [\"http://192.0.2.1/p\"]}]\n", network},
		"schema":              {"openapi: {path: \"http://192.0.2.1/p\"}\n", network},
		"configuration":       {"configurations: [\"http://192.0.2.1/p\"]\n", network},
		"by alias":            {"x: &u [\"http://192.0.2.1/p\"]\nresources: *u\n", network},
		"transformer's patch": {"resources: [till.yaml]\ntransformers: [transformer.yaml]\n", network},
		"exec plugin":         {"resources: [till.yaml]\ntransformers: [exec.yaml]\n", "plugin"},
		"helm program":        {"helmCharts: [{name: a, repo: \"https://192.0.2.1\"}]\n", "--enable-helm"},
		"file outside":        {"resources: [till.yaml]\nconfigMapGenerator: [{name: a, files: [../secret.txt]}]\n", "secret.txt"},
		"missing file":        {"resources: [none.yaml]\n", `a/kustomization.yaml: "none.yaml" is neither a file nor a directory`},
		"syntax":              {"resources: {\n", "kustomize a"},
	} {
		t.Run(name, func(t *testing.T) {
			files := memory{
				"a/kustomization.yaml": c.kustomization, "a/till.yaml": deployment, "secret.txt": "x",
				"a/transformer.yaml": "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: a}, path: \"http://192.0.2.1/p.yaml\"}\n",
				"a/exec.yaml":        "{apiVersion: example.org/v1, kind: Run, metadata: {name: a, annotations: {config.kubernetes.io/function: \"exec: {path: /bin/true}\"}}}\n",
			}
			_, err := Read([]cluster.AddonSpec{kustomized("a")}, "v1.36.3", files)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}
