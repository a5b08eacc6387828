package addon

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"deployer/addons"
	"deployer/engine"
	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

// hookRun runs hooks of an add-on.
type hookRun struct {
	client  *kube.Client
	name    string // of the add-on
	hooks   []addons.Hook
	timeout time.Duration // for each hook
	actx    engine.ActionContext
}

// run runs the hooks of an event, one after the other, and removes their objects as their
// policies say. It stops at the first that fails.
func (r hookRun) run(ctx context.Context, event string) error {
	var succeeded []addons.Hook
	var failed error
	for _, h := range addons.HooksOf(r.hooks, event) {
		r.actx.Progress(fmt.Sprintf("hook %s: %s", event, kube.Describe(h.Object)))
		if err := r.one(ctx, h); err != nil {
			failed = fmt.Errorf("hook %s, %s: %w", event, kube.Describe(h.Object), err)
			if slices.Contains(h.Delete, addons.HookFailed) {
				_ = r.remove(context.WithoutCancel(ctx), h.Object)
			}
			break
		}
		succeeded = append(succeeded, h)
	}
	for _, h := range succeeded {
		if !slices.Contains(h.Delete, addons.HookSucceeded) {
			continue
		}
		if err := r.remove(ctx, h.Object); err != nil && failed == nil {
			return err
		}
	}
	return failed
}

// one applies the object of a hook and waits for its end.
func (r hookRun) one(ctx context.Context, h addons.Hook) error {
	runs := h.Object.GetKind() == "Job" || h.Object.GetKind() == "Pod"
	// A Job that has run before would count as the success of this run.
	if runs || len(h.Delete) == 0 || slices.Contains(h.Delete, addons.BeforeHookCreation) {
		if err := r.remove(ctx, h.Object); err != nil {
			return err
		}
	}
	if _, err := r.client.Apply(ctx, labelled(h.Object, r.name), kube.Manager, true, false); err != nil {
		return err
	}
	if !runs {
		return nil
	}
	w := kube.Workload{Kind: h.Object.GroupVersionKind(), Namespace: h.Object.GetNamespace(), Name: h.Object.GetName()}
	err := poll.Until(ctx, r.timeout, 500*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		live, err := r.client.Get(ctx, w.Kind, w.Namespace, w.Name)
		if err != nil {
			return "", false, err
		}
		done, failed := ended(live)
		if failed != "" {
			return "", false, fmt.Errorf("it failed: %s", failed)
		}
		return "it has not ended", done, nil
	})
	if err == nil {
		return nil
	}
	return &engine.Failure{Message: err.Error(), Detail: strings.Join(kube.PodProblems(context.WithoutCancel(ctx), r.client, w), "\n")}
}

// ended reports whether a Job or a Pod has succeeded, or why it has failed.
func ended(o *unstructured.Unstructured) (done bool, failed string) {
	if o.GetKind() == "Pod" {
		phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		if phase == "Failed" {
			reason, _, _ := unstructured.NestedString(o.Object, "status", "message")
			return false, "the pod has failed " + reason
		}
		return phase == "Succeeded", ""
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		switch {
		case c["status"] != "True":
		case c["type"] == "Complete":
			return true, ""
		case c["type"] == "Failed":
			return false, fmt.Sprintf("%v: %v", c["reason"], c["message"])
		}
	}
	return false, ""
}

// remove deletes an object and waits until it is gone.
func (r hookRun) remove(ctx context.Context, o *unstructured.Unstructured) error {
	if err := r.client.Delete(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName(), -1); err != nil {
		return fmt.Errorf("removing %s: %w", kube.Describe(o), err)
	}
	return waitGone(ctx, r.client, o, r.actx)
}

// waitGone waits until the finalizers of an object have run.
func waitGone(ctx context.Context, c *kube.Client, o *unstructured.Unstructured, actx engine.ActionContext) error {
	target := kube.Describe(o)
	actx.Progress("waiting until " + target + " is gone")
	return poll.Until(ctx, goneTimeout, 300*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		live, err := c.Get(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName())
		if apierrors.IsNotFound(err) || kube.IsUnknownKind(err) {
			return "", true, nil
		}
		if err != nil {
			return "", false, err
		}
		return fmt.Sprintf("%s waits for its finalizers %q: the program that removes them may not run", target, live.GetFinalizers()), false, nil
	})
}

// hookEffects returns the hooks that will run at events.
func hookEffects(hooks []addons.Hook, events ...string) []engine.Effect {
	var out []engine.Effect
	for _, event := range events {
		for _, h := range addons.HooksOf(hooks, event) {
			out = append(out, kube.ObjectEffect(kube.Describe(h.Object), "run hook "+event, "", h.Object))
		}
	}
	return out
}
