package status

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/tasks/control/kube"
)

// annotation returns the text of an annotation of the ConfigMap; empty when there is none.
func annotation(ctx context.Context, c *kube.Client, name string) (string, error) {
	object, err := c.Get(ctx, ConfigMapKind(), Namespace, Name)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return object.GetAnnotations()[name], nil
}

// annotate sets an annotation of the ConfigMap, and makes the ConfigMap when there is none.
func annotate(ctx context.Context, c *kube.Client, manager, name, text string) error {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"namespace": Namespace, "name": Name, "annotations": map[string]any{name: text}},
	}}
	_, err := c.Apply(ctx, object, manager, true, false)
	return err
}
