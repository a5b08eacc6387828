package pipeline_test

import (
	"path/filepath"
	"strings"
	"testing"

	"deployer/ci/pipeline"
	"deployer/ci/report"
)

const withPlaybooks = `environments:
  production:
    inventories: [inventory.yaml]
    playbooks: [{file: os.yaml, order: before}, {file: playbooks/addons.yaml}]
`

func playbook(hosts, content string) string {
	return "- name: p\n  hosts: " + hosts + "\n  tasks: [{name: t, copy: {content: " + content + ", dest: /etc/motd}}]\n"
}

// withPlaybooksDeployed returns a site with two playbooks whose first revision is deployed.
func withPlaybooksDeployed(t *testing.T) *site {
	t.Helper()
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]"), "deployer.ci.yaml": withPlaybooks,
		"os.yaml": playbook("minion", "one"), "playbooks/addons.yaml": "- {name: p, hosts: m1, roles: [addons]}\n",
		"roles/addons/tasks/main.yaml": "- {name: t, template: {src: a.j2, dest: /etc/a}}\n", "roles/addons/templates/a.j2": "one\n"})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("run os.yaml @a", "apply --yes @a", "run playbooks/addons.yaml @a", "verify @a")
	return s
}

func TestPlaybooksFollowAChange(t *testing.T) {
	s := withPlaybooksDeployed(t)
	s.commit(map[string]string{"roles/addons/templates/a.j2": "two\n"})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("run os.yaml @a", "run playbooks/addons.yaml @a", "verify @a")
	if r.Clusters[0].Touched != 1 {
		t.Errorf("%d hosts touched, want m1 alone", r.Clusters[0].Touched)
	}
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("run os.yaml @b", "scale-up n3 @b", "run playbooks/addons.yaml @b", "verify @b")
	s.commit(map[string]string{"README.md": "nothing that a playbook reads"})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Nothing)
	s.requireCalls()
}

func TestOnePlaybookIsAppliedAsPlanned(t *testing.T) {
	one := strings.Replace(withPlaybooks, "{file: os.yaml, order: before}, ", "", 1)
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]"), "deployer.ci.yaml": one, "playbooks/addons.yaml": playbook("m1", "one")})
	s.run(s.options())
	s.calls()
	s.commit(map[string]string{"playbooks/addons.yaml": playbook("m1", "two")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	calls := s.calls()
	if len(calls) != 3 || !strings.HasPrefix(calls[0], "plan run playbooks/addons.yaml -o ") || !strings.HasPrefix(calls[1], "apply "+s.fake) || calls[2] != "verify @a" {
		t.Errorf("calls %q", calls)
	}
	if !strings.HasPrefix(r.Clusters[0].Plan, "sha256:") || r.Clusters[0].PlanText == "" {
		t.Errorf("plan %q with the text %q", r.Clusters[0].Plan, r.Clusters[0].PlanText)
	}
}

func TestFailedPlaybookIsRunAgain(t *testing.T) {
	s := withPlaybooksDeployed(t)
	s.write(filepath.Join(s.fake, "fail run"), "1")
	s.write(filepath.Join(s.fake, "once"), "")
	s.commit(map[string]string{"os.yaml": playbook("minion", "two")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Failed)
	s.requireCalls("run os.yaml @a")
	s.commit(map[string]string{"os.yaml": playbook("minion", "one")}) // the former content: hosts may have the other
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("resume --yes @a", "run os.yaml @a", "run playbooks/addons.yaml @a", "verify @a")
}

func TestPlaybookErrorsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"unknown module": {map[string]string{"os.yaml": "- name: p\n  hosts: minion\n  tasks: [{name: t, copi: {dest: /x}}]\n"}, "os.yaml:3:"},
		"missing file":   {map[string]string{"os.yaml": ""}, "os.yaml: validation: reading the playbook: "},
		"prompt": {map[string]string{"os.yaml": "- name: p\n  hosts: minion\n  vars_prompt: [{name: release, prompt: which}]\n  tasks: []\n"},
			"os.yaml: validation: the playbook asks for release, and nobody answers in CI; set the variable in the inventory"},
	} {
		t.Run(name, func(t *testing.T) {
			s := withPlaybooksDeployed(t)
			s.commit(c.files)
			r, p := s.run(s.options())
			s.requireOutcome(r, report.Refused)
			s.requireCalls()
			if text := p.Mask(report.Markdown(r)); !strings.Contains(text, c.want) {
				t.Errorf("want %q in\n%s", c.want, text)
			}
		})
	}
}

func TestDriftOfPlaybooks(t *testing.T) {
	s := withPlaybooksDeployed(t)
	p, err := pipeline.Open(t.Context(), s.options())
	if err != nil {
		t.Fatal(err)
	}
	for changes, differs := range map[string]bool{"[]": false, `[{"step": "1", "name": "t"}]`: true} {
		s.write(filepath.Join(s.fake, "changes"), changes)
		r, got, err := p.Drift(t.Context())
		if err != nil || got != differs || len(r.Stages) != 1 {
			t.Errorf("changes %s: differs %v, %v, %+v", changes, got, err, r.Stages)
		}
		calls := s.calls()
		if len(calls) != 3 || calls[0] != "apply --check --detailed-exitcode @a" || !strings.HasPrefix(calls[1], "plan run os.yaml -o ") || !strings.HasPrefix(calls[2], "plan run playbooks/addons.yaml -o ") {
			t.Errorf("calls %q", calls)
		}
	}
}
