package addon

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"deployer/addons"
	"deployer/tasks/control/kube"
)

// refusedHooks returns an error that names the hooks whose objects the API refuses as invalid, by a dry run
// on the server. Hooks of a removal would otherwise fail years later, when nobody has the chart any more. An
// object that exists, or whose kind or namespace does not, is not compared.
func refusedHooks(ctx context.Context, c *kube.Client, hooks []addons.Hook) error {
	var refused []error
	for _, h := range hooks {
		o := h.Object
		if len(h.Events) == 0 {
			continue
		}
		if _, err := c.Get(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName()); !apierrors.IsNotFound(err) {
			continue
		}
		if _, err := c.Apply(ctx, o, kube.Manager, true, true); apierrors.IsInvalid(err) {
			refused = append(refused, fmt.Errorf("hook %s, %s: %w; correct the values of the chart", strings.Join(h.Events, ", "), kube.Describe(o), err))
		}
	}
	return errors.Join(refused...)
}
