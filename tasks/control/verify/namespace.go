package verify

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"deployer/shortlist"
	"deployer/tasks/control/kube"
	"deployer/tasks/control/report"
	"deployer/tasks/poll"
)

const (
	// cleanupTimeout is the maximum time for the removal of a check's namespace. The removal also
	// runs when the check was interrupted.
	cleanupTimeout = 15 * time.Second
	// deletionTimeout is the maximum wait until the namespace controller has looked at a namespace
	// that is deleted. It begins 5 s after the deletion (kubernetes pkg/controller/namespace,
	// namespaceDeletionGracePeriod).
	deletionTimeout = 9 * time.Second
	// staleAfter is the age above which the namespace of a check is removed: its check was killed,
	// as no check lasts much longer than its timeout, 320 s by default.
	staleAfter = 10 * time.Minute
)

// checkNamespace is the check of the namespaces of test pods.
const checkNamespace = "test namespaces"

func newNamespace(ctx context.Context, c *kube.Client) (string, error) {
	name := randomName()
	return name, create(ctx, c, &corev1.Namespace{
		TypeMeta: v1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: v1.ObjectMeta{Name: name, Labels: map[string]string{
			kube.TestLabel:                       "true",
			"app.kubernetes.io/managed-by":       "deployer",
			"pod-security.kubernetes.io/enforce": "restricted", // the probes need no privileges
		}},
	})
}

func randomName() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // never fails: crypto/rand
	return "deployer-verify-" + hex.EncodeToString(b)
}

// testNamespaces returns the namespaces of all checks.
func testNamespaces(ctx context.Context, c *kube.Client) ([]unstructured.Unstructured, error) {
	return c.List(ctx, kube.NamespaceKind(), "", v1.ListOptions{LabelSelector: kube.TestLabel + "=true"})
}

// removeStale removes the namespaces of killed checks. Errors are ignored: the next
// check retries.
func removeStale(ctx context.Context, c *kube.Client, now time.Time) {
	items, err := testNamespaces(ctx, c)
	if err != nil {
		return
	}
	for _, ns := range items {
		if now.Sub(ns.GetCreationTimestamp().Time) > staleAfter && ns.GetDeletionTimestamp() == nil {
			_ = c.Delete(ctx, kube.NamespaceKind(), "", ns.GetName(), 0)
		}
	}
}

// removeNamespace removes the namespace of a check. It returns a note when it, or one of an earlier
// check, cannot be removed: that is no problem of its own.
func removeNamespace(ctx context.Context, c *kube.Client, name string) []report.Row {
	ctx, cancel := context.WithTimeout(ctx, cleanupTimeout)
	defer cancel()
	if err := c.Delete(ctx, kube.NamespaceKind(), "", name, 0); err != nil {
		return []report.Row{report.Skip(checkNamespace, "", "namespace %s could not be removed: %v; the next check removes it", name, err)}
	}
	if discoveryFails(ctx, c) {
		awaitDeletion(ctx, c, name)
	}
	items, err := testNamespaces(ctx, c)
	if err != nil {
		return nil // its removal has begun
	}
	return stuckNamespaces(items, name, time.Now())
}

// stuckNamespaces returns a note that names the namespaces of checks that cannot be removed, and
// why; first is the one whose reason is preferred.
func stuckNamespaces(items []unstructured.Unstructured, first string, now time.Time) []report.Row {
	var stuck []string
	var reason deletionProblem
	for i := range items {
		problem := blockedDeletion(&items[i])
		deleted := items[i].GetDeletionTimestamp()
		if problem.why == "" || !problem.discovery && now.Sub(deleted.Time) < staleAfter {
			continue // another reason may pass
		}
		stuck = append(stuck, items[i].GetName())
		if reason.why == "" || items[i].GetName() == first {
			reason = problem
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	slices.Sort(stuck)
	advice := "kubectl describe namespace " + stuck[0]
	if reason.discovery {
		advice = "they go by themselves when each APIService is available again, or its registration is removed: kubectl get apiservice"
	}
	return []report.Row{report.Skip(checkNamespace, "", "namespaces that stay Terminating, without pods: %s: %s; %s", shortlist.Names(stuck, 4), reason.why, advice)}
}

// discoveryFails reports whether an APIService is not available, so that namespaces may stay.
func discoveryFails(ctx context.Context, c *kube.Client) bool {
	items, err := c.List(ctx, apiServiceKind(), "", v1.ListOptions{})
	return err == nil && slices.ContainsFunc(items, func(o unstructured.Unstructured) bool { return unavailable(&o) != "" })
}

// awaitDeletion waits until a namespace is gone, or the namespace controller has said whether it can
// be removed.
func awaitDeletion(ctx context.Context, c *kube.Client, name string) {
	_ = poll.Until(ctx, deletionTimeout, 200*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		ns, err := c.Get(ctx, kube.NamespaceKind(), "", name)
		if apierrors.IsNotFound(err) {
			return "", true, nil
		}
		if err != nil {
			return "", false, poll.Later(err)
		}
		return "", blockedDeletion(ns).examined, nil
	})
}

// deletionProblem is why a namespace that is deleted cannot be removed.
type deletionProblem struct {
	why       string // empty: nothing is known
	discovery bool   // an APIService that is not available is the reason
	examined  bool   // the namespace controller has looked for such a reason
}

func blockedDeletion(o *unstructured.Unstructured) deletionProblem {
	var ns corev1.Namespace
	var out deletionProblem
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &ns) != nil || ns.DeletionTimestamp == nil {
		return out
	}
	for _, condition := range ns.Status.Conditions {
		discovery := condition.Type == corev1.NamespaceDeletionDiscoveryFailure
		out.examined = out.examined || discovery
		if condition.Status == corev1.ConditionTrue && !out.discovery {
			out.why, out.discovery = condition.Message, discovery
		}
	}
	return out
}
