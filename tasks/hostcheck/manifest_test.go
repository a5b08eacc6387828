package hostcheck

import (
	"strings"
	"testing"

	"deployer/tasks/tasktest"
)

// TestCopiedManifest: a copy of a manifest is refused before the manifest changes, also when the
// manifest itself is not there; files of other pods and hidden files are left alone.
func TestCopiedManifest(t *testing.T) {
	t.Parallel()
	const dir = "/etc/kubernetes/manifests/"
	pod := func(name, namespace string) string {
		return "kind: Pod\nmetadata: {name: " + name + ", namespace: " + namespace + "}\n"
	}
	apiserver := pod("kube-apiserver", "kube-system")
	for name, tt := range map[string]struct {
		files map[string]string
		want  string // name of the copy; empty: there is none
	}{
		"new host":          {nil, ""},
		"only the manifest": {map[string]string{"kube-apiserver.yaml": apiserver}, ""},
		"copy":              {map[string]string{"kube-apiserver.yaml": apiserver, "kube-apiserver.yaml.bak": apiserver}, "kube-apiserver.yaml.bak"},
		"only a copy":       {map[string]string{"kube-apiserver.yaml.old": apiserver}, "kube-apiserver.yaml.old"},
		"foreign pods":      {map[string]string{"own.yaml": pod("own", "kube-system"), "x.yaml": pod("kube-apiserver", "default"), "note.txt": "text"}, ""},
		"file of an editor": {map[string]string{"kube-apiserver.yaml": apiserver, ".kube-apiserver.yaml.swp": apiserver}, ""},
		"another of ours":   {map[string]string{"kube-proxy.yaml": pod("kube-proxy", "kube-system")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			for file, content := range tt.files {
				sys.Write(t, dir+file, content, 0o600)
			}
			r := Requirement{Kind: "manifest", Name: "kube-apiserver.yaml", Path: dir + "kube-apiserver.yaml"}
			row := r.look(t.Context(), sys, nil)
			if row.OK != (tt.want == "") {
				t.Fatalf("row %+v", row)
			}
			if !row.OK && (!strings.HasPrefix(row.Detail, tt.want+" defines pod kube-system/kube-apiserver") || !strings.Contains(row.Fix, "mv "+dir+tt.want+" /root/")) {
				t.Errorf("row %+v", row)
			}
		})
	}
}
