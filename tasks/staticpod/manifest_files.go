package staticpod

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/tasks/checkresult"
)

// maxManifest is the maximum size of a file that is parsed, in bytes.
const maxManifest = 1 << 20

// ManifestFile is a file that the kubelet reads.
type ManifestFile struct {
	File string // name in its directory
	Pod  string // NAMESPACE/NAME of the pod that it defines; empty when it defines none
}

// ManifestFiles returns the files of a directory that the kubelet reads, sorted by name: all regular
// files and links whose names do not begin with a dot, whatever their suffix (kubernetes
// pkg/kubelet/config, file.go).
func ManifestFiles(sys engine.System, dir string) []ManifestFile {
	entries, _ := os.ReadDir(sys.Path(dir)) // a missing directory has no files
	var out []ManifestFile
	for _, e := range entries {
		path := sys.Path(filepath.Join(dir, e.Name()))
		info, err := os.Stat(path)
		if strings.HasPrefix(e.Name(), ".") || err != nil || !info.Mode().IsRegular() {
			continue
		}
		out = append(out, ManifestFile{File: e.Name(), Pod: podOf(path, info.Size())})
	}
	return out
}

// podOf returns the pod that a file defines.
func podOf(realPath string, size int64) string {
	if size > maxManifest {
		return ""
	}
	data, err := os.ReadFile(realPath)
	var pod struct {
		Kind     string
		Metadata struct{ Name, Namespace string }
	}
	if err != nil || yaml.Unmarshal(data, &pod) != nil || pod.Kind != "Pod" || pod.Metadata.Name == "" {
		return ""
	}
	return cmp.Or(pod.Metadata.Namespace, "default") + "/" + pod.Metadata.Name
}

// CopiesOf returns the names of the other files that define the pod of a manifest, whose name is
// that of its pod in kube-system. The manifest itself need not exist.
func CopiesOf(manifest string, files []ManifestFile) []string {
	pod := podName(manifest)
	var out []string
	for _, f := range files {
		if f.File != manifest && f.Pod == pod {
			out = append(out, f.File)
		}
	}
	return out
}

// CopyProblem returns the row of a file in dir that defines the pod of a manifest once more.
func CopyProblem(dir, manifest, other string) checkresult.Row {
	return checkresult.Problem(fmt.Sprintf("move it out of the directory: mv %s /root/", filepath.Join(dir, other)),
		"%s defines pod %s, as %s does; the kubelet reads every file whose name does not begin with a dot, and may run this one", other, podName(manifest), manifest)
}

func podName(manifest string) string {
	return "kube-system/" + strings.TrimSuffix(manifest, filepath.Ext(manifest))
}

// copies returns a hint at other files that define the pod of a manifest; empty for none.
func (r *Ready) copies(sys engine.System, m manifest) string {
	dir, own := filepath.Split(r.Manifest)
	var others []string
	for _, f := range ManifestFiles(sys, dir) {
		if f.File != own && f.Pod == m.Metadata.Namespace+"/"+m.Metadata.Name {
			others = append(others, filepath.Join(dir, f.File))
		}
	}
	if len(others) == 0 {
		return ""
	}
	return "; the kubelet also reads " + strings.Join(others, ", ") + ", which defines the same pod: move it out of the directory"
}
