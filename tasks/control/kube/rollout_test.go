package kube

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

func TestDeploymentRollout(t *testing.T) {
	three := int32(3)
	for _, c := range []struct {
		name   string
		change func(*appsv1.Deployment)
		share  float64
		done   bool
		failed bool
	}{
		{"complete", func(*appsv1.Deployment) {}, 1, true, false},
		{"not seen yet", func(d *appsv1.Deployment) { d.Generation = 5 }, 1, false, false},
		{"old pods left", func(d *appsv1.Deployment) { d.Status.Replicas = 4 }, 1, false, false},
		{"one not available", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }, 1, false, false},
		{"one not available, enough", func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 2 }, 0.6, true, false},
		{"one still of the old version", func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 2 }, 0.5, false, false},
		{"given up", func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Reason: "ProgressDeadlineExceeded"}}
		}, 1, false, true},
	} {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &three}}
		d.Generation, d.Status.ObservedGeneration = 4, 4
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 3, 3, 3
		c.change(d)
		if got := deploymentRollout(d, c.share, 0); got.Done != c.done || got.Failed != c.failed {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestDaemonSetRollout(t *testing.T) {
	d := &appsv1.DaemonSet{}
	d.Status.DesiredNumberScheduled, d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable = 20, 20, 18
	if daemonSetRollout(d, 1, 0).Done || !daemonSetRollout(d, 0.9, 0).Done || daemonSetRollout(d, 0.91, 0).Done {
		t.Error("a rollout above the share of available pods is not done")
	}
	d.Status.UpdatedNumberScheduled = 3
	if daemonSetRollout(d, 0.9, 0).Done {
		t.Error("a rollout with old pods is done")
	}
	d.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
	if !daemonSetRollout(d, 0.9, 0).Done {
		t.Error("a DaemonSet with OnDelete waits for old pods")
	}
}

func TestPortion(t *testing.T) {
	for _, c := range []struct {
		n     int32
		share float64
		want  int32
	}{{5, 0.9, 5}, {20, 0.9, 18}, {10, 0.7, 7}, {1, 0.1, 1}, {0, 0.5, 0}, {7, 1, 7}, {7, 0, 7}} {
		if got := portion(c.n, c.share); got != c.want {
			t.Errorf("portion(%d, %v) is %d, want %d", c.n, c.share, got, c.want)
		}
	}
}
