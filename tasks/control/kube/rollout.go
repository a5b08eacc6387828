package kube

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"deployer/engine"
	"deployer/tasks/poll"
)

// Workload identifies a Deployment, a DaemonSet or a StatefulSet.
type Workload struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

func (w Workload) String() string {
	return strings.ToLower(w.Kind.Kind) + " " + w.Namespace + "/" + w.Name
}

// Rollout is the progress of a workload towards its spec.
type Rollout struct {
	Done bool
	// Failed is true when the progress deadline of a Deployment is exceeded.
	Failed bool
	// Text describes the progress, such as "2 of 3 pods available".
	Text string
}

// RolloutOf returns the progress of a workload by the rules of `kubectl rollout status`
// (k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go). share, above 0 and at most
// 1, is the share of the wanted pods that must be available. dead is the number of its pods on
// nodes that do not report any more: they are not waited for, unlike with kubectl, while at least one other
// pod is available, because nothing that the workload does brings them back. Objects of other kinds are done.
func RolloutOf(o *unstructured.Unstructured, share float64, dead int32) (Rollout, error) {
	switch o.GetKind() {
	case "Deployment":
		var d appsv1.Deployment
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
			return Rollout{}, err
		}
		return deploymentRollout(&d, share, dead), nil
	case "DaemonSet":
		var d appsv1.DaemonSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
			return Rollout{}, err
		}
		return daemonSetRollout(&d, share, dead), nil
	case "StatefulSet":
		var s appsv1.StatefulSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &s); err != nil {
			return Rollout{}, err
		}
		return statefulSetRollout(&s, share, dead), nil
	}
	return Rollout{Done: true}, nil
}

func deploymentRollout(d *appsv1.Deployment, share float64, dead int32) Rollout {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	if d.Status.ObservedGeneration < d.Generation {
		return Rollout{Text: "its controller has not seen the change yet"}
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded" {
			return Rollout{Failed: true, Text: c.Message}
		}
	}
	switch {
	case d.Status.UpdatedReplicas < want:
		return Rollout{Text: fmt.Sprintf("%d of %d pods are of the new version", d.Status.UpdatedReplicas, want)}
	case d.Status.Replicas > d.Status.UpdatedReplicas:
		return Rollout{Text: fmt.Sprintf("%d old pods still run", d.Status.Replicas-d.Status.UpdatedReplicas)}
	case d.Status.AvailableReplicas < portion(alive(want, dead), share):
		return Rollout{Text: fmt.Sprintf("%d of %d pods available", d.Status.AvailableReplicas, want)}
	}
	return Rollout{Done: true, Text: fmt.Sprintf("%d of %d pods available", d.Status.AvailableReplicas, want)}
}

func daemonSetRollout(d *appsv1.DaemonSet, share float64, dead int32) Rollout {
	want := d.Status.DesiredNumberScheduled
	switch {
	case d.Status.ObservedGeneration < d.Generation:
		return Rollout{Text: "its controller has not seen the change yet"}
	case d.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType && d.Status.UpdatedNumberScheduled < portion(alive(want, dead), share):
		return Rollout{Text: fmt.Sprintf("%d of %d pods are of the new version", d.Status.UpdatedNumberScheduled, want)}
	case d.Status.NumberAvailable < portion(alive(want, dead), share):
		return Rollout{Text: fmt.Sprintf("%d of %d pods available", d.Status.NumberAvailable, want)}
	}
	return Rollout{Done: true, Text: fmt.Sprintf("%d of %d pods available", d.Status.NumberAvailable, want)}
}

func statefulSetRollout(s *appsv1.StatefulSet, share float64, dead int32) Rollout {
	want, fixed := int32(1), int32(0) // fixed pods stay of the old version
	if s.Spec.Replicas != nil {
		want = *s.Spec.Replicas
	}
	rolling := s.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType
	if u := s.Spec.UpdateStrategy.RollingUpdate; rolling && u != nil && u.Partition != nil {
		fixed = min(*u.Partition, want)
	}
	switch {
	case s.Status.ObservedGeneration < s.Generation:
		return Rollout{Text: "its controller has not seen the change yet"}
	case rolling && s.Status.UpdateRevision != s.Status.CurrentRevision && s.Status.UpdatedReplicas < alive(want-fixed, dead):
		return Rollout{Text: fmt.Sprintf("%d of %d pods are of the new version", s.Status.UpdatedReplicas, want-fixed)}
	case s.Status.ReadyReplicas < portion(alive(want, dead), share):
		return Rollout{Text: fmt.Sprintf("%d of %d pods ready", s.Status.ReadyReplicas, want)}
	}
	return Rollout{Done: true, Text: fmt.Sprintf("%d of %d pods ready", s.Status.ReadyReplicas, want)}
}

// alive returns the number of pods to wait for; of a workload with pods, at least one.
func alive(want, dead int32) int32 { return max(want-dead, min(want, 1)) }

// portion returns the share of n, rounded up: 90% of 5 is 5, 90% of 20 is 18.
func portion(n int32, share float64) int32 {
	if share <= 0 || share >= 1 {
		return n
	}
	return int32(math.Ceil(float64(n)*share - 1e-9))
}

// WorkloadsOf returns the workloads among objects that have a rollout.
func WorkloadsOf(objects []*unstructured.Unstructured) []Workload {
	var out []Workload
	for _, o := range objects {
		switch gvk := o.GroupVersionKind(); gvk {
		case DeploymentKind(), DaemonSetKind(), StatefulSetKind():
			out = append(out, Workload{gvk, o.GetNamespace(), o.GetName()})
		}
	}
	return out
}

// WaitRollouts waits until all workloads are rolled out. On timeout it returns an
// *engine.Failure: the message names the unfinished workloads, the detail the problems
// of their pods.
func WaitRollouts(ctx context.Context, c *Client, workloads []Workload, share float64, timeout time.Duration, progress func(string)) error {
	left := slices.Clone(workloads)
	last := ""
	dead := &deadNodes{}
	err := poll.Until(ctx, timeout, 500*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		var waiting []Workload
		var texts []string
		for _, w := range left {
			text, done, err := rolloutText(ctx, c, w, share, dead)
			if err != nil {
				return "", false, err
			}
			if !done {
				waiting = append(waiting, w)
				texts = append(texts, text)
			}
		}
		left = waiting
		state := strings.Join(texts, "; ")
		if state != last {
			last = state
			progress("waiting: " + state)
		}
		return state, len(left) == 0, nil
	})
	if err == nil {
		return nil
	}
	return &engine.Failure{Message: "rollout: " + err.Error(), Detail: strings.Join(podProblems(context.WithoutCancel(ctx), c, left), "\n")}
}

func rolloutText(ctx context.Context, c *Client, w Workload, share float64, nodes *deadNodes) (text string, done bool, err error) {
	o, err := c.Get(ctx, w.Kind, w.Namespace, w.Name)
	if err != nil {
		return "", false, fmt.Errorf("reading %s: %w", w, err)
	}
	r, err := RolloutOf(o, share, 0)
	if err == nil && !r.Done && !r.Failed {
		var dead int32
		if dead, err = nodes.podsOf(ctx, c, o); err == nil && dead > 0 {
			r, err = RolloutOf(o, share, dead)
			r.Text += fmt.Sprintf(", %d on nodes that do not report", dead)
		}
	}
	if err != nil {
		return "", false, fmt.Errorf("reading %s: %w", w, err)
	}
	if r.Failed {
		return "", false, fmt.Errorf("%s failed: %s", w, r.Text)
	}
	return w.String() + ": " + r.Text, r.Done, nil
}
