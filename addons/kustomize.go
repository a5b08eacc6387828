package addons

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"

	"deployer/tasks/control/kube"
)

// readKustomization returns the objects of a directory with a kustomization, as kubectl kustomize
// does: plugins are off, and a kustomization reads files of its own directory only.
func readKustomization(r *reader, dir string) ([]*unstructured.Unstructured, error) {
	files := newKustomizeFiles(r)
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, files.absolute(dir))
	if files.refused != nil {
		return nil, files.refused // kustomize tries other ways after it
	}
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %s", dir, strings.ReplaceAll(err.Error(), r.files.Dir()+"/", ""))
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("kustomize %s: %w", dir, errTooLarge)
	}
	objects, err := kube.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("kustomize %s: %w", dir, err)
	}
	return objects, nil
}

// errTooLarge is the error of a rendered add-on above maxBytes.
var errTooLarge = errors.New("the rendered objects have more than 64 MiB")
