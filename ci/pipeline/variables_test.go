package pipeline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/ci/pipeline"
	"deployer/ci/report"
)

// withVariables returns an inventory that reads environment variables.
func withVariables(revision, proxy string) string {
	return strings.Replace(inventoryOf(revision, "v1.35.4", "n[1:2]"), "name: lab,", "name: lab, api: {sans: [!env API_ADDRESS]}, containerd: {http_proxy: "+proxy+"},", 1) +
		"vars: {lb_token: !env LB_TOKEN}\n"
}

const allocating = `
secrets: [{env: LB_TOKEN, file: FILE}]
stages:
  validate: {uses: validate}
  allocate: {command: [sh, -c, 'echo "API_ADDRESS=10.9.8.7" >> "$DEPLOYER_CI_OUTPUT"'], outputs: [API_ADDRESS]}
  deploy: {uses: deploy, environment: production, inputs: {API_ADDRESS: allocate.API_ADDRESS}}
  verify: {uses: verify, environment: production, inputs: {API_ADDRESS: allocate.API_ADDRESS}}
`

// TestInventoryReadsVariables: a push is assessed before its outputs exist, and
// without the secrets of its deploy.
func TestInventoryReadsVariables(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "token")
	config := strings.Replace(allocating, "FILE", secret, 1)
	s := newSite(t, map[string]string{"inventory.yaml": withVariables("a", "http://proxy.example:3128"), "deployer.ci.yaml": config})
	assess := func() *report.Run {
		t.Helper()
		p, err := pipeline.Open(t.Context(), s.options())
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Assess(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := assess()
	s.requireOutcome(r, report.Passed)
	if r.Clusters[0].Hosts != 5 {
		t.Errorf("findings %v", r.Findings())
	}
	s.write(secret, "t0ken-of-lb\n")
	s.write(filepath.Join(s.fake, "print"), "LB_TOKEN API_ADDRESS")
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	if out := s.out.String(); strings.Contains(out, "t0ken") || !strings.Contains(out, "apply has API_ADDRESS=10.9.8.7") || !strings.Contains(out, "apply has LB_TOKEN=[secret]") {
		t.Errorf("output:\n%s", out)
	}
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Nothing)

	// The place needs a URL.
	s.commit(map[string]string{"inventory.yaml": withVariables("b", "!env PROXY_URL"), "deployer.ci.yaml": config + "placeholders: {PROXY_URL: text}\n"})
	r = assess()
	s.requireOutcome(r, report.Refused)
	if found := r.Findings(); len(found) == 0 || !strings.Contains(found[0].Advice, "PROXY_URL") || !strings.Contains(found[0].Advice, "placeholders in deployer.ci.yaml") {
		t.Errorf("findings %v", found)
	}
	s.commit(map[string]string{"deployer.ci.yaml": config + "placeholders: {PROXY_URL: 'http://192.0.2.1:3128'}\n"})
	s.requireOutcome(assess(), report.Passed)

	// The new revision does not declare its variable. The variable of the old
	// revision is not needed.
	s.commit(map[string]string{"inventory.yaml": strings.Replace(inventoryOf("c", "v1.35.4", "n[1:2]"), "name: lab,", "name: !env UNDECLARED_NAME,", 1), "deployer.ci.yaml": ""})
	r = assess()
	s.requireOutcome(r, report.Refused)
	if found := r.Findings(); len(found) != 1 || !strings.Contains(found[0].Message, `"UNDECLARED_NAME" is not set`) {
		t.Errorf("findings %v", found)
	}
	s.commit(map[string]string{"inventory.yaml": inventoryOf("d", "v1.35.4", "n[1:2]")})
	if r = assess(); r.Clusters[0].Change.First || len(r.Findings()) > 0 {
		t.Errorf("the former revision was not read: %+v, %v", r.Clusters[0].Change, r.Findings())
	}
}

// TestReportsAreTogether: all reports are in one directory, which a CI system can
// upload.
func TestReportsAreTogether(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": strings.Replace(inventoryOf("b", "v1.35.4", "n[1:2]"), "name: lab,", "name: lab, kubelet: {max_pods: 60},", 1)})
	s.write(filepath.Join(s.fake, "runs"), `[{"run": "new", "started": "2026-11-23T13:00:00Z"}]`)
	o := s.options()
	o.ReportsDir = filepath.Join(t.TempDir(), "reports")
	r, p := s.run(o)
	s.requireOutcome(r, report.Deployed)
	if err := p.WriteReports(r, p.Reports()); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(o.ReportsDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(o.ReportsDir, path)
		got = append(got, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"deploy-production.log", "gl-code-quality.json", "junit.xml", "plan.log", "plans/inventory.yaml/plan.json", "report.json",
		"runs/inventory.yaml/new.html", "runs/inventory.yaml/new.json", "summary.html", "summary.md", "verify-production.log"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLogsOfEarlierRuns: a directory of reports that is used again has only the logs
// of the last run, each with the output of all commands of its stage.
func TestLogsOfEarlierRuns(t *testing.T) {
	s := deployed(t, nil)
	o := s.options()
	o.ReportsDir = filepath.Join(t.TempDir(), "reports")
	for _, revision := range []string{"b", "c"} {
		minions := map[string]string{"b": "n[1:3]", "c": "n[2:4]"}[revision] // c has two steps
		s.commit(map[string]string{"inventory.yaml": inventoryOf(revision, "v1.35.4", minions)})
		r, _ := s.run(o)
		s.requireOutcome(r, report.Deployed)
	}
	log, err := os.ReadFile(filepath.Join(o.ReportsDir, "deploy-production.log"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(log), "output of scale-"); n != 2 {
		t.Errorf("%d steps in the log, want the 2 of the last run:\n%s", n, log)
	}
}
