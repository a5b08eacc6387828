package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/ci/report"
)

// production returns a configuration with gates and stages, each in the flow style of YAML.
func production(gates, stages string) string {
	return "environments:\n  production: {inventories: [inventory.yaml], gates: " + gates + "}\n" + stages
}

const deployOnly = "stages: {deploy: {uses: deploy, environment: production}}\n"

// TestGatesHoldWithoutAStage: the gates hold when the pushed revision has no stage
// gate, or one that may fail.
func TestGatesHoldWithoutAStage(t *testing.T) {
	for name, c := range map[string]struct{ gates, stages, want string }{
		"no stage gate":          {"{data_loss: {hosts: [n2]}}", deployOnly, "data_loss: n2 leaves and holds data"},
		"gate that may fail":     {"{data_loss: {hosts: [n2]}}", "stages: {gate: {uses: gate, allow_fail: true}, deploy: {uses: deploy, environment: production}}\n", "data_loss: n2 leaves and holds data"},
		"plan without gate":      {"{approved_plan: {level: block}}", "stages: {plan: {uses: plan}, deploy: {uses: deploy, environment: production}}\n", "is not approved"},
		"approval without plan":  {"{approved_plan: {level: block}}", deployOnly, "there is no plan that could be approved, because no stage has made one; add a stage with uses: plan"},
		"advice does not refuse": {"{data_loss: {level: advise, hosts: [n2]}}", deployOnly, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := deployed(t, nil)
			s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n1"), "deployer.ci.yaml": production(c.gates, c.stages)})
			r, _ := s.run(s.options())
			changed := strings.Contains(strings.Join(s.calls(), "\n"), "--yes")
			if c.want == "" {
				s.requireOutcome(r, report.Deployed)
				return
			}
			s.requireOutcome(r, report.Refused)
			if changed || !strings.Contains(r.Stages[len(r.Stages)-1].Message, c.want) {
				t.Errorf("changed %v, stages %+v, want %s", changed, r.Stages[len(r.Stages)-1], c.want)
			}
		})
	}
}

// TestPushKeepsItsOwnGatesAndTheFormerOnes: a push has to pass its own gates and
// those of the deployed revision; gates that a push loosens apply from the next push
// on.
func TestPushKeepsItsOwnGatesAndTheFormerOnes(t *testing.T) {
	strict, loose := production("{blast_radius: {limit: 1}}", ""), production("{blast_radius: {limit: 9}}", "")
	s := deployed(t, map[string]string{"deployer.ci.yaml": loose})
	two := map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:4]")}
	s.commit(map[string]string{"deployer.ci.yaml": strict, "inventory.yaml": two["inventory.yaml"]})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Refused) // its own gates are stricter
	s.git("reset", "-q", "--hard", "HEAD~1")

	s.commit(map[string]string{"deployer.ci.yaml": strict})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Nothing)
	strictCommit := s.commit(map[string]string{"README.md": "strict"})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Nothing)
	s.commit(map[string]string{"deployer.ci.yaml": loose, "inventory.yaml": two["inventory.yaml"]})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Refused)
	if found := r.Findings(); len(found) != 1 || !strings.Contains(found[0].String(), "blast_radius allows 1 (1 of 5) (gate of "+report.Short(strictCommit)+", the revision that the cluster has") {
		t.Errorf("findings %v", found)
	}
	s.git("reset", "-q", "--hard", "HEAD~1")

	s.commit(map[string]string{"deployer.ci.yaml": loose})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Nothing)
	s.commit(two)
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Deployed)
}

// TestWindowEndsDuringTheRun: the gates pass, and the window ends while staging is verified, or
// between two steps of production. The next run within the window continues.
func TestWindowEndsDuringTheRun(t *testing.T) {
	for ends, want := range map[string][]string{
		"verify @staging-b":      {"scale-down n1 --check @a", "upgrade @staging-b", "verify @staging-b"},
		"scale-down --yes n1 @a": {"scale-down n1 --check @a", "upgrade @staging-b", "verify @staging-b", "scale-down --yes n1 @a"},
	} {
		t.Run(ends, func(t *testing.T) {
			s := newSite(t, map[string]string{"deployer.ci.yaml": "environments:\n  staging: {inventories: [staging.yaml]}\n  production: {inventories: [inventory.yaml], gates: {control_plane: {windows: [{from: '09:00', to: '16:00'}]}}}\n",
				"staging.yaml": stagingOf("a", "v1.35.4"), "inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")})
			s.run(s.options())
			s.calls()
			s.commit(map[string]string{"staging.yaml": stagingOf("b", "v1.36.3"), "inventory.yaml": inventoryOf("b", "v1.36.3", "n2")})
			o := s.options()
			o.Now = func() time.Time {
				if calls, _ := os.ReadFile(filepath.Join(s.fake, "calls")); strings.Contains(strings.ReplaceAll(string(calls), " --lock-timeout 30m", ""), ends) {
					return s.now.Add(6 * time.Hour)
				}
				return s.now
			}
			r, _ := s.run(o)
			s.requireOutcome(r, report.Refused)
			s.requireCalls(want...)
			r, _ = s.run(s.options())
			s.requireOutcome(r, report.Deployed)
			if calls := s.calls(); calls[len(calls)-2] != "upgrade @b" || calls[len(calls)-1] != "verify @b" {
				t.Errorf("calls %q", calls)
			}
		})
	}
}
