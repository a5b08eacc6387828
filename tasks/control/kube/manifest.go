package kube

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	yamlv3 "gopkg.in/yaml.v3"
)

// Parse returns the objects of a YAML stream in order. Parse skips empty documents and
// returns the items of lists (kind List) one by one. Errors name the number and the
// line of the document.
func Parse(manifests []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yamlv3.NewDecoder(bytes.NewReader(manifests))
	for n := 1; ; n++ {
		var node yamlv3.Node
		if err := decoder.Decode(&node); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("document %d of the manifests: %w", n, err)
		}
		found, err := parseDocument(&node)
		if err != nil {
			return nil, fmt.Errorf("document %d of the manifests (line %d): %w", n, node.Line, err)
		}
		objects = append(objects, found...)
	}
}

func parseDocument(node *yamlv3.Node) ([]*unstructured.Unstructured, error) {
	text, err := yamlv3.Marshal(node)
	if err != nil {
		return nil, err
	}
	// sigs.k8s.io/yaml decodes scalars as the API server does.
	var content map[string]any
	if err := yaml.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	if len(content) == 0 {
		return nil, nil
	}
	object := &unstructured.Unstructured{Object: content}
	if object.IsList() {
		list, err := object.ToList()
		if err != nil {
			return nil, err
		}
		var out []*unstructured.Unstructured
		for i := range list.Items {
			if err := checkObject(&list.Items[i]); err != nil {
				return nil, fmt.Errorf("item %d: %w", i+1, err)
			}
			out = append(out, &list.Items[i])
		}
		return out, nil
	}
	return []*unstructured.Unstructured{object}, checkObject(object)
}

func checkObject(o *unstructured.Unstructured) error {
	switch {
	case o.GetAPIVersion() == "" || o.GetKind() == "":
		return errors.New("the object has no apiVersion or no kind")
	case o.GetName() == "":
		return fmt.Errorf("the %s has no metadata.name", o.GetKind())
	case o.GetGenerateName() != "":
		return fmt.Errorf("the %s has metadata.generateName; write metadata.name instead, objects are applied by name", o.GetKind())
	}
	return nil
}

// Describe names an object in messages: "kind name" or "kind namespace/name".
func Describe(o *unstructured.Unstructured) string {
	if ns := o.GetNamespace(); ns != "" {
		return fmt.Sprintf("%s %s/%s", o.GetKind(), ns, o.GetName())
	}
	return fmt.Sprintf("%s %s", o.GetKind(), o.GetName())
}
