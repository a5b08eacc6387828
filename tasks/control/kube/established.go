package kube

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/tasks/poll"
)

// establishTimeout is the maximum time in which the API serves a new kind. It needs less than a
// second.
const establishTimeout = time.Minute

// waitEstablished waits until the API serves the kinds of the CustomResourceDefinitions that a
// plan has changed, so that the next task can apply objects of them.
func waitEstablished(ctx context.Context, c *Client, plan []Planned, progress func(string)) error {
	for _, p := range plan {
		gvk := p.Object.GroupVersionKind()
		if !p.Needed || p.Delete || gvk.Kind != "CustomResourceDefinition" {
			continue
		}
		name := p.Object.GetName()
		err := poll.Until(ctx, establishTimeout, 100*time.Millisecond, func(ctx context.Context) (string, bool, error) {
			o, err := c.Get(ctx, gvk, "", name)
			if err != nil {
				return "", false, err
			}
			if isEstablished(o.Object) {
				return "", true, nil
			}
			progress("waiting until the API serves " + name)
			return "its condition Established is not True", false, nil
		})
		if err != nil {
			return fmt.Errorf("the API does not serve %s: %w", name, err)
		}
	}
	return nil
}

// isEstablished reports whether the API serves the kind of a CustomResourceDefinition.
func isEstablished(definition map[string]any) bool {
	conditions, _, err := unstructured.NestedSlice(definition, "status", "conditions")
	return err == nil && slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Established" && condition["status"] == "True"
	})
}
