package addon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

// splitLate sets the namespaces of objects, and returns those whose kind the API serves or the
// objects define, and the others: objects of kinds that a program of an add-on defines when it
// runs. An object of an unknown kind is an error when no add-on so far has a program.
func splitLate(ctx context.Context, c *kube.Client, objects []*unstructured.Unstructured, namespace string, before []*unstructured.Unstructured) (served, late []*unstructured.Unstructured, err error) {
	definitions := slices.Concat(before, objects)
	program := len(kube.WorkloadsOf(definitions)) > 0
	for _, o := range objects {
		err := c.SetNamespace(ctx, []*unstructured.Unstructured{o}, namespace, definitions...)
		switch {
		case err == nil:
			served = append(served, o)
		case program && kube.IsUnknownKind(err) && isForeign(o.GroupVersionKind()):
			late = append(late, o)
		default:
			return nil, nil, err
		}
	}
	return served, late, nil
}

// isForeign reports whether a kind can be one that a program defines. The names of Kubernetes' own
// groups have no dot, but for those that package kube knows, whose scope is known for all versions.
func isForeign(gvk schema.GroupVersionKind) bool { return strings.Contains(gvk.Group, ".") }

// planLate returns the changes for objects whose kinds the API does not serve yet.
func planLate(late []*unstructured.Unstructured) []kube.Planned {
	var plan []kube.Planned
	for _, o := range late {
		effect := kube.ObjectEffect(kube.Describe(o), "create, when a program of the add-ons has defined its kind", "", o)
		plan = append(plan, kube.Planned{Object: o, Live: &unstructured.Unstructured{}, Needed: true, Effect: effect})
	}
	return plan
}

// executeLate waits for the kind of each object, for at most timeout, and applies the object.
func executeLate(ctx context.Context, c *kube.Client, plan []kube.Planned, namespace string, timeout time.Duration, progress func(string)) error {
	for i, p := range plan {
		progress(fmt.Sprintf("waiting until the API serves kind %s of %s, which a program of the add-ons defines", p.Object.GetKind(), p.Object.GetAPIVersion()))
		err := poll.Until(ctx, timeout, 500*time.Millisecond, func(ctx context.Context) (string, bool, error) {
			err := c.SetNamespace(ctx, []*unstructured.Unstructured{p.Object}, namespace)
			if kube.IsUnknownKind(err) {
				err = poll.Later(err)
			}
			return "", err == nil, err
		})
		if err != nil {
			return err
		}
		if err := kube.Execute(ctx, c, plan[i:i+1], true, progress); err != nil {
			return err
		}
	}
	return nil
}
