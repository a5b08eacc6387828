package addons

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/tasks/control/kube"
)

// encrypted is the suffix of files that are encrypted with age.
const encrypted = ".age"

// readManifests returns the objects of files and directories, in their order.
func readManifests(r *reader, paths []string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, path := range paths {
		files, err := manifestFiles(r, path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			content, err := r.read(file)
			if err != nil {
				return nil, err
			}
			objects, err := kube.Parse(content)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			out = append(out, objects...)
		}
	}
	return out, nil
}

// manifestFiles returns the files that a path names: the file itself, or the manifests in a
// directory.
func manifestFiles(r *reader, path string) ([]string, error) {
	names, err := r.files.ReadDir(path)
	if errors.Is(err, ErrNoDirectory) {
		return []string{path}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isManifest(name) })
	if len(names) == 0 {
		return nil, fmt.Errorf("%s has no file *.yaml, *.yml or *.json", path)
	}
	for i, name := range names {
		names[i] = filepath.Join(path, name)
	}
	return names, nil
}

func isManifest(name string) bool {
	ext := filepath.Ext(strings.TrimSuffix(name, encrypted))
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, ext)
}
