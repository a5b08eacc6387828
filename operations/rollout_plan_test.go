package operations

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/cluster"
	"deployer/limit"
	"deployer/project"
)

const planInventory = `
hosts:
  m1: {address: 10.0.0.1}
  n1: {address: 10.0.0.11}
  n2: {address: 10.0.0.12}
  n3: {address: 10.0.0.13}
  n4: {address: 10.0.0.14}
  n5: {address: 10.0.0.15}
  n6: {address: 10.0.0.16}
groups:
  zone-a: {hosts: [n2, n3]}
roles: {master: [m1], etcd: [m1], minion: ["n[1:6]"]}
cluster: {name: lab, kubernetes: v1.36.3}
`

func planProject(t *testing.T) *project.Project {
	t.Helper()
	file := filepath.Join(t.TempDir(), "inventory.yaml")
	if err := os.WriteFile(file, []byte(planInventory), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := project.LoadCluster(file, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func rolloutPlanFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rollout.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestRolloutPlanSetsOptions: the file has the limits of the upgrade, and flags replace
// them.
func TestRolloutPlanSetsOptions(t *testing.T) {
	plan, err := ReadRolloutPlan(rolloutPlanFile(t, `
steps:
  - {name: pilot, hosts: n1}
  - parallel:
      - {hosts: zone-a, batch_size: 50%, max_fail: 1}
      - {hosts: [n5], batch_size: 1}
batch_size: 2
max_fail: 3
canary: 2
soak: 90s
pause: true
max_unavailable: {rack: 1}
spread: zone
critical: [n5]
`))
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultUpgrade()
	o.BatchSize, o.Spread = limit.Limit{Count: 4}, "rack"
	plan.Replace(&o, func(flag string) bool { return flag == "batch-size" || flag == "spread" })
	limits := UpgradeLimits{MaxUnavailable: []cluster.LabelLimit{{Label: "rack", Limit: limit.Limit{Count: 1}}}, Spread: "rack", Critical: []string{"n5"}}
	if o.BatchSize.Count != 4 || o.MaxFail.Count != 3 || o.Canary != 2 || o.Soak != 90*time.Second || !o.Pause || !cmp.Equal(o.UpgradeLimits, limits) {
		t.Errorf("the options are %+v", o)
	}
	want := []any{
		map[string]any{"hosts": []any{"n1"}},
		map[string]any{"parallel": []any{
			map[string]any{"hosts": []any{"zone-a"}, "max_parallel": "50%", "max_fail": "1"},
			map[string]any{"hosts": []any{"n5"}, "max_parallel": "1"},
		}},
	}
	if diff := cmp.Diff(want, plan.vars()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

// TestRolloutPlanErrors: errors name the file and what to write.
func TestRolloutPlanErrors(t *testing.T) {
	p := planProject(t)
	for name, tt := range map[string]struct{ text, want string }{
		"an unknown key":       {"batchsize: 3\n", `rollout.yaml:1:1`},
		"no hosts":             {"steps: [{batch_size: 1}]\n", "steps[0]: hosts is missing"},
		"no hosts in parallel": {"steps: [{parallel: [{batch_size: 1}]}]\n", "steps[0].parallel: a group has no hosts"},
		"both":                 {"steps: [{hosts: n1, parallel: [{hosts: n2}]}]\n", "steps[0]: parallel stands alone"},
		"an unknown host":      {"steps:\n  - hosts: n77\n", `rollout.yaml:2:12: hosts: pattern "n77": there is no host or group "n77"`},
		"a master":             {"steps:\n  - hosts: m1\n", `rollout.yaml:2:12: hosts: pattern "m1" matches no minion`},
		"a wrong share":        {"steps: [{hosts: n1, max_fail: lots}]\n", `"lots" is not a number of hosts`},
	} {
		plan, err := ReadRolloutPlan(rolloutPlanFile(t, tt.text))
		if err == nil {
			_, err = plan.Resolve(p)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
	if _, err := ReadRolloutPlan("/nonexistent/rollout.yaml"); err == nil || !strings.Contains(err.Error(), "--rollout") {
		t.Errorf("a file that does not exist: %v", err)
	}
}
