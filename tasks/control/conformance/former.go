package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

// removeFormer removes what a killed run has left. A run that lives changes an annotation of its
// namespace, which is an error: two runs would disturb each other's tests. No clock is compared.
func (r *run) removeFormer(ctx context.Context) error {
	first, err := r.o.Client.Get(ctx, kube.NamespaceKind(), "", Namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for a former run: %w", err)
	}
	wait := 2*r.o.times.heartbeat + 5*r.o.times.poll
	r.o.Progress(fmt.Sprintf("namespace %s exists: waiting %s to see whether another run uses it", Namespace, wait))
	deadline := time.Now().Add(wait)
	for time.Now().Before(deadline) && first.GetDeletionTimestamp() == nil {
		if poll.Sleep(ctx, r.o.times.poll) != nil {
			return context.Cause(ctx)
		}
		now, err := r.o.Client.Get(ctx, kube.NamespaceKind(), "", Namespace)
		if apierrors.IsNotFound(err) {
			break
		}
		if err == nil && (now.GetUID() != first.GetUID() || now.GetAnnotations()[heartbeatKey] != first.GetAnnotations()[heartbeatKey]) {
			return fmt.Errorf("another run of the conformance tests uses namespace %s: wait until it ends", Namespace)
		}
	}
	r.began = first.GetCreationTimestamp().Time
	r.o.Progress("removing the objects of a former run")
	if err := r.remove(ctx); err != nil {
		return fmt.Errorf("removing the objects of a former run: %w", err)
	}
	return nil
}

// beat marks the run as alive. Errors are ignored: the next mark is soon.
func (r *run) beat(ctx context.Context) {
	if time.Since(r.beaten) < r.o.times.heartbeat {
		return
	}
	r.beaten = time.Now()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{heartbeatKey: r.beaten.UTC().Format(time.RFC3339Nano)}}})
	if err == nil {
		_, _ = r.o.Client.Patch(ctx, kube.NamespaceKind(), "", Namespace, patch, kube.Manager)
	}
}

// testLabel is the label of the namespaces of tests (kubernetes test/e2e/framework, CreateTestingNS).
const testLabel = "e2e-run"

// remove removes the pod, which gives interrupted tests the time to remove their objects, then the
// namespaces of tests that are as new as the run, the rights and the namespace of the run. It also works for a run
// that is removed in part.
func (r *run) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.times.removal, fmt.Errorf("it took longer than %s", r.o.times.removal))
	defer cancel()
	c := r.o.Client
	grace := int64(r.o.times.grace.Seconds())
	if r.ended {
		grace = 0
	}
	if err := c.Delete(ctx, kube.PodKind(), Namespace, podName, grace); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting pod %s/%s: %w", Namespace, podName, err)
	}
	// A kubelet that is away never confirms the end of its pod; its namespace goes when it is back.
	_ = r.awaitGone(ctx, r.o.times.grace+30*time.Second, func(ctx context.Context) error {
		_, err := c.Get(ctx, kube.PodKind(), Namespace, podName)
		return err
	})
	if err := r.removeTestNamespaces(ctx); err != nil {
		return err
	}
	if err := c.Delete(ctx, bindingKind(), "", Namespace, -1); err != nil {
		return fmt.Errorf("deleting ClusterRoleBinding %s: %w", Namespace, err)
	}
	if err := c.Delete(ctx, kube.NamespaceKind(), "", Namespace, -1); err != nil {
		return fmt.Errorf("deleting namespace %s: %w", Namespace, err)
	}
	err := r.awaitGone(ctx, r.o.times.removal, func(ctx context.Context) error {
		_, err := c.Get(ctx, kube.NamespaceKind(), "", Namespace)
		return err
	})
	if err != nil {
		return fmt.Errorf("namespace %s stays Terminating (%w): kubectl describe namespace %s", Namespace, err, Namespace)
	}
	return nil
}

// removeTestNamespaces deletes the namespaces that the tests of the run have left.
func (r *run) removeTestNamespaces(ctx context.Context) error {
	items, err := r.o.Client.List(ctx, kube.NamespaceKind(), "", v1.ListOptions{LabelSelector: testLabel})
	if err != nil {
		return fmt.Errorf("listing namespaces of tests: %w", err)
	}
	for _, ns := range items {
		if ns.GetDeletionTimestamp() != nil || r.began.IsZero() || ns.GetCreationTimestamp().Time.Before(r.began) {
			continue
		}
		if err := r.o.Client.Delete(ctx, kube.NamespaceKind(), "", ns.GetName(), -1); err != nil {
			return fmt.Errorf("deleting namespace %s of a test: %w", ns.GetName(), err)
		}
	}
	return nil
}

// awaitGone waits until get returns that an object does not exist.
func (r *run) awaitGone(ctx context.Context, limit time.Duration, get func(context.Context) error) error {
	return poll.Until(ctx, limit, r.o.times.poll/2, func(ctx context.Context) (string, bool, error) {
		err := get(ctx)
		if apierrors.IsNotFound(err) {
			return "", true, nil
		}
		if err != nil {
			return "", false, poll.Later(err)
		}
		return "it still exists", false, nil
	})
}

// nodeProblem returns why a node does not answer; empty when it is Ready.
func (r *run) nodeProblem(ctx context.Context) string {
	states, err := kube.Nodes(ctx, r.o.Client, []string{r.o.Node})
	switch {
	case err != nil || len(states) == 0:
		return ""
	case !states[0].Ready:
		return fmt.Sprintf("; node %s is not Ready: %s", r.o.Node, states[0].Reason)
	}
	return ""
}
