package drain

import (
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/tasks/control/kube/kubetest"
)

func TestStepEvictsWithoutWaiting(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{}
	c := serve(t, api)
	for _, name := range pods(3) {
		putPod(api, name, map[string]any{"app": "web"})
	}
	putBudget(api, 2)
	left, err := Step(t.Context(), c, "n1", Options{})
	if err != nil || len(left) != 1 || !strings.Contains(left[0], "PodDisruptionBudget default/web allows no disruption") {
		t.Fatalf("left %q, %v", left, err)
	}
	if got := state(api, "n1"); got != "open" {
		t.Errorf("n1 is %s: a step does not cordon", got)
	}
	if left, err := Step(t.Context(), c, "n1", Options{DisableEviction: true}); err != nil || len(left) != 0 {
		t.Errorf("left %q after deletion, %v", left, err)
	}
}

func TestKillOverdueKillsOnlyWhatShouldHaveEnded(t *testing.T) {
	t.Parallel()
	api := &kubetest.API{}
	c := serve(t, api)
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for name, ended := range map[string]time.Duration{"late": 31 * time.Second, "slow": 29 * time.Second, "running": 0} {
		putPod(api, name, nil)
		pod := api.Object("/api/v1/namespaces/default/pods/" + name)
		if ended > 0 {
			meta := pod["metadata"].(map[string]any)
			meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"] = now.Add(-ended).Format(time.RFC3339), 30
			api.Put("/api/v1/namespaces/default/pods/"+name, pod)
		}
	}
	killed, err := KillOverdue(t.Context(), c, "n1", Options{}, now)
	if err != nil || !slices.Equal(killed, []string{"default/late"}) {
		t.Errorf("killed %q, %v", killed, err)
	}
	if got := evictions(api); len(got) != 0 {
		t.Errorf("evicted %q", got)
	}
}
