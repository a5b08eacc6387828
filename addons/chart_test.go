package addons

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/cluster"
)

func shopChart() memory {
	return memory{
		"chart/Chart.yaml":                  "{apiVersion: v2, name: shop, version: 1.2.3, kubeVersion: \">=1.30.0-0\", dependencies: [{name: sub, version: 1.0.0, condition: sub.enabled}]}\n",
		"chart/values.yaml":                 "tea: 1\ncoffee: 1\nenabled: true\nnested: {a: 1, b: 2}\nsub: {enabled: false}\n",
		"chart/.helmignore":                 "ignored.yaml\n",
		"chart/templates/ignored.yaml":      "not yaml: [",
		"chart/templates/_helpers.tpl":      "{{ define \"name\" }}{{ .Release.Name }}-prices{{ end }}\n",
		"chart/templates/NOTES.txt":         "Now {{ now }}\n",
		"chart/templates/prices.yaml":       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ include \"name\" . }}}\ndata:\n  values: {{ pick .Values \"tea\" \"coffee\" \"nested\" \"enabled\" | toJson | quote }}\n  about: \"{{ .Release.Namespace }} {{ .Release.IsInstall }} {{ .Capabilities.KubeVersion }} {{ .Capabilities.APIVersions.Has \"example.org/v1/Till\" }} {{ .Capabilities.APIVersions.Has \"apps/v1\" }} {{ .Capabilities.APIVersions.Has \"more/v1\" }}\"\n  found: {{ lookup \"v1\" \"Secret\" \"a\" \"b\" | toJson | quote }}\n",
		"chart/templates/job.yaml":          "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: \"pre-upgrade, pre-install\", helm.sh/hook-weight: \"-5\", helm.sh/hook-delete-policy: \"before-hook-creation,hook-succeeded\"}\n",
		"chart/templates/tests/t.yaml":      "{apiVersion: v1, kind: Pod, metadata: {name: t, annotations: {helm.sh/hook: test}}}\n",
		"chart/crds/till.yaml":              crd,
		"chart/charts/sub/Chart.yaml":       "{apiVersion: v2, name: sub, version: 1.0.0}\n",
		"chart/charts/sub/templates/a.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: of-sub}}\n",
	}
}

func charted(edit func(*cluster.AddonSpec)) cluster.AddonSpec {
	s := cluster.AddonSpec{Name: "shop", Namespace: "stock", Chart: "chart", Wait: new(true), Timeout: time.Minute, APIVersions: []string{"more/v1"}}
	if edit != nil {
		edit(&s)
	}
	return s
}

func values(t *testing.T, s *cluster.AddonSpec, text string) {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	s.Values.Node = n.Content[0]
}

func TestChart(t *testing.T) {
	files := shopChart()
	files["first.yaml"] = "tea: 2\ncoffee: 2\nnested: {a: 5}\n"
	files["second.yaml.age"] = "coffee: hunter2\nword: !env WORD\n"
	set, err := Read([]cluster.AddonSpec{charted(func(s *cluster.AddonSpec) {
		s.ValuesFiles = []string{"first.yaml", "second.yaml.age"}
		values(t, s, "tea: 3\nenabled: no\n")
	})}, "v1.36.3", files)
	if err != nil {
		t.Fatal(err)
	}
	a := set[0]
	if diff := cmp.Diff([]string{"CustomResourceDefinition tills.example.org", "ConfigMap shop-prices"}, names(a)); diff != "" {
		t.Error(diff)
	}
	data, _, _ := unstructured.NestedStringMap(a.Objects[1].Object, "data")
	want := map[string]string{
		"values": `{"coffee":"hunter2","enabled":false,"nested":{"a":5,"b":2},"tea":3}`,
		"about":  "stock true v1.36.3 false true true", "found": "{}",
	}
	if diff := cmp.Diff(want, data); diff != "" {
		t.Error(diff)
	}
	if files["secrets"] != "of WORD hunter2 of WORD" {
		t.Errorf("secrets %q", files["secrets"])
	}
	if len(a.Hooks) != 1 || a.Hooks[0].Weight != -5 || !cmp.Equal(a.Hooks[0].Events, []string{PreInstall, PreUpgrade}) || !cmp.Equal(a.Hooks[0].Delete, []string{BeforeHookCreation, HookSucceeded}) {
		t.Errorf("hooks %+v", a.Hooks)
	}
	files["chart/templates/job.yaml"] += "spec: {backoffLimit: 1}\n"
	again, err := Read([]cluster.AddonSpec{charted(nil)}, "v1.36.3", files)
	if err != nil || again[0].Digest == a.Digest {
		t.Errorf("another hook is the same add-on: %v", err)
	}
}

// TestDependencies enables a chart in the chart, and gives it the kinds of an add-on before it.
func TestDependencies(t *testing.T) {
	files := shopChart()
	files["crd.yaml"] = strings.Replace(crd, "names: {kind: Till}", "names: {kind: Till}, versions: [{name: v1}]", 1)
	delete(files, "chart/crds/till.yaml")
	set, err := Read([]cluster.AddonSpec{spec("kinds", "crd.yaml"), charted(func(s *cluster.AddonSpec) { values(t, s, "sub: {enabled: true}\n") })}, "v1.36.3", files)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap of-sub", "ConfigMap shop-prices"}, names(set[1])); diff != "" {
		t.Error(diff)
	}
	if about, _, _ := unstructured.NestedString(set[1].Objects[1].Object, "data", "about"); about != "stock true v1.36.3 true true true" {
		t.Errorf("about %q", about)
	}
}

func TestChartArchive(t *testing.T) {
	files := shopChart()
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	archive := tar.NewWriter(pack)
	for name, text := range files {
		if strings.HasSuffix(name, "ignored.yaml") {
			continue
		}
		if err := archive.WriteHeader(&tar.Header{Name: strings.Replace(name, "chart/", "shop/", 1), Mode: 0o600, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := pack.Close(); err != nil {
		t.Fatal(err)
	}
	dir, err := Read([]cluster.AddonSpec{charted(nil)}, "v1.36.3", files)
	if err != nil {
		t.Fatal(err)
	}
	tgz, err := Read([]cluster.AddonSpec{charted(func(s *cluster.AddonSpec) { s.Chart = "shop.tgz" })}, "v1.36.3", memory{"shop.tgz": packed.String()})
	if err != nil || tgz[0].Digest != dir[0].Digest {
		t.Errorf("the archive differs from the directory: %v", err)
	}
}

func TestRefusedCharts(t *testing.T) {
	for name, c := range map[string]struct {
		files memory // replace those of the chart
		edit  func(*cluster.AddonSpec)
		want  string
	}{
		"no chart":     {nil, func(s *cluster.AddonSpec) { s.Chart = "none" }, "file does not exist"},
		"library":      {memory{"chart/Chart.yaml": "{apiVersion: v2, name: shop, version: 1.2.3, type: library}\n"}, nil, "it is a library"},
		"version":      {memory{"chart/Chart.yaml": "{apiVersion: v2, name: shop, version: 1.2.3, kubeVersion: \"<1.30.0-0\"}\n"}, nil, "it needs Kubernetes <1.30.0-0, and the cluster has v1.36.3"},
		"dependency":   {memory{"chart/Chart.yaml": "{apiVersion: v2, name: shop, version: 1.2.3, dependencies: [{name: other, version: 1.0.0, repository: \"https://192.0.2.1\"}]}\n"}, nil, "its dependency other is not in its directory charts"},
		"random":       {memory{"chart/templates/random.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: {{ randAlphaNum 20 }}}}\n"}, nil, "shop/templates/random.yaml: each rendering gives another result"},
		"time":         {memory{"chart/templates/time.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: {{ now | date \"2006\" | quote }}}}\n"}, nil, "shop/templates/time.yaml: each rendering gives another result"},
		"syntax":       {memory{"chart/templates/bad.yaml": "{{ if }}\n"}, nil, "shop/templates/bad.yaml:1"},
		"yaml":         {memory{"chart/templates/bad.yaml": "a: [\n"}, nil, "shop/templates/bad.yaml, rendered: document 1"},
		"environment":  {memory{"chart/templates/bad.yaml": "{{ env \"HOME\" }}\n"}, nil, "function \"env\" not defined"},
		"required":     {memory{"chart/templates/bad.yaml": "{{ required \"set word\" .Values.word }}\n"}, nil, "set word"},
		"weight":       {memory{"chart/templates/h.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: h, annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: x}}}\n"}, nil, "\"x\", not a number"},
		"schema":       {memory{"chart/values.schema.json": `{"properties": {"tea": {"type": "string"}}}`}, nil, "tea"},
		"values file":  {memory{"v.yaml": "[a]\n"}, func(s *cluster.AddonSpec) { s.ValuesFiles = []string{"v.yaml"} }, "v.yaml:1:1: want a mapping of values"},
		"unset":        {memory{"v.yaml": "a: !env NONE\n"}, func(s *cluster.AddonSpec) { s.ValuesFiles = []string{"v.yaml"} }, "environment variable \"NONE\" is not set"},
		"huge":         {memory{"chart/templates/huge.yaml": "{{ range until 200 }}# " + strings.Repeat("x", 400_000) + "\n{{ end }}"}, nil, "more than 64 MiB"},
		"file outside": {memory{"chart/templates/f.yaml": "{{ required \"no file\" (.Files.Get \"../secrets.txt\") }}\n", "secrets.txt": "x"}, nil, "no file"},
	} {
		t.Run(name, func(t *testing.T) {
			files := shopChart()
			for file, text := range c.files {
				files[file] = text
			}
			if _, err := Read([]cluster.AddonSpec{charted(c.edit)}, "v1.36.3", files); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	files := shopChart()
	files["chart/values.schema.json"] = `{"properties": {"tea": {"$ref": "https://192.0.2.1/schema.json"}}}`
	if _, err := Read([]cluster.AddonSpec{charted(nil)}, "v1.36.3", files); err != nil {
		t.Errorf("a schema with a reference to the network: %v", err)
	}
}
