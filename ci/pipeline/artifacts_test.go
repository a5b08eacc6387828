package pipeline_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/ci/pipeline"
	"deployer/ci/report"
	"deployer/runs/telemetry"
)

func TestRecordsOfRunsAreKept(t *testing.T) {
	t.Setenv("TOKEN", "s3cr3t-s3cr3t")
	s := newSite(t, map[string]string{"clusters/a.yaml": inventoryOf("a", "v1.35.4", "n[1:2]"),
		"deployer.ci.yaml": "environments: {production: {inventories: [clusters/a.yaml]}}\nsecrets: [{env: TOKEN}]\n"})
	before, after := s.now.Add(-time.Hour).Format(time.RFC3339), s.now.Add(time.Minute).Format(time.RFC3339)
	s.write(filepath.Join(s.fake, "runs"), `[{"run": "new", "started": "`+after+`"}, {"run": "old", "started": "`+before+`"}, {"run": "../../../outside", "started": "`+after+`"}]`)
	r, p := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	want := []string{"runs/clusters/a.yaml/new.html", "runs/clusters/a.yaml/new.json"}
	got := r.Stages[3].Artifacts
	if len(got) == 2 && strings.HasSuffix(got[0], ".json") {
		got[0], got[1] = got[1], got[0]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	data, err := os.ReadFile(filepath.Join(p.Reports(), want[0]))
	if err != nil || !strings.HasPrefix(string(data), "--html=- of new, ") || strings.Contains(string(data), "s3cr3t") {
		t.Errorf("%q, %v", data, err)
	}
	log, err := os.ReadFile(filepath.Join(p.Reports(), "deploy-production.log"))
	if err != nil || !strings.Contains(string(log), "output of apply") || strings.Contains(string(log), "of new, ") {
		t.Errorf("the log of the deploy has the records of runs: %q, %v", log, err)
	}
	if strings.Contains(s.out.String(), "runs show") {
		t.Errorf("the terminal shows how artifacts are collected:\n%s", s.out.String())
	}
}

func TestPlanIsKept(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": strings.Replace(inventoryOf("b", "v1.35.4", "n[1:2]"), "name: lab,", "name: lab, kubelet: {max_pods: 60},", 1)})
	r, p := s.run(s.options())
	if diff := cmp.Diff([]string{"plans/inventory.yaml/plan.json"}, r.Stages[1].Artifacts); diff != "" {
		t.Fatal(diff)
	}
	if _, err := os.Stat(filepath.Join(p.Reports(), "plans", "inventory.yaml", "plan.json")); err != nil {
		t.Error(err)
	}
}

// TestFilesOfClustersWithSimilarPaths: each of two inventories, whose paths differ in one
// character, has its own plan, runs and kubeconfig.
func TestFilesOfClustersWithSimilarPaths(t *testing.T) {
	named := func(revision, name string, podsMax string) string {
		return strings.Replace(inventoryOf(revision, "v1.35.4", "n[1:2]"), "name: lab", "name: "+name+podsMax, 1)
	}
	files := map[string]string{"clusters/a.yaml": named("a", "slash", ""), "clusters_a.yaml": named("a", "underscore", ""), "deployer.ci.yaml": `
environments: {production: {inventories: [clusters/a.yaml, clusters_a.yaml]}}
stages:
  plan: {uses: plan}
  deploy: {uses: deploy, environment: production, outputs: [KUBECONFIG]}
  show: {command: [sh, -c, 'IFS=:; for f in $KUBECONFIG; do echo "$f" >> paths; done'], inputs: {KUBECONFIG: deploy.KUBECONFIG}, artifacts: [paths]}
  verify: {uses: verify, environment: production}
`}
	s := newSite(t, files)
	s.run(s.options())
	for name, cluster := range map[string]string{"clusters/a.yaml": "slash", "clusters_a.yaml": "underscore"} {
		files[name] = named("b", cluster, ", kubelet: {max_pods: 60}")
	}
	s.commit(files)
	s.write(filepath.Join(s.fake, "runs"), `[{"run": "new", "started": "`+s.now.Format(time.RFC3339)+`"}]`)
	r, p := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	applied := slices.DeleteFunc(s.calls(), func(call string) bool { return !strings.HasPrefix(call, "apply /") })
	if len(applied) != 2 || applied[0] == applied[1] {
		t.Errorf("the plans of both clusters are applied as %q", applied)
	}
	for _, stage := range []int{0, 1} {
		if kept := slices.Sorted(slices.Values(r.Stages[stage].Artifacts)); len(slices.Compact(kept)) != len(r.Stages[stage].Artifacts) || len(kept) < 2 {
			t.Errorf("stage %s keeps %q", r.Stages[stage].Name, kept)
		}
	}
	paths, err := os.ReadFile(filepath.Join(p.Reports(), "artifacts", "paths"))
	if lines := strings.Fields(string(paths)); err != nil || len(lines) != 2 || lines[0] == lines[1] {
		t.Errorf("kubeconfigs %q, %v", paths, err)
	}
}

func TestKubeconfigForACommand(t *testing.T) {
	s := newSite(t, map[string]string{"a.yaml": inventoryOf("a", "v1.35.4", "n[1:2]"), "b.yaml": strings.Replace(inventoryOf("b", "v1.35.4", "n[1:2]"), "name: lab", "name: other", 1),
		"deployer.ci.yaml": `environments: {production: {inventories: [a.yaml, b.yaml]}}
stages:
  deploy: {uses: deploy, environment: production, outputs: [KUBECONFIG]}
  smoke: {command: [sh, -c, 'IFS=:; for f in $KUBECONFIG; do echo "$(stat -c %a $f) $(cat $f)"; done; echo "$KUBECONFIG" > paths'], inputs: {KUBECONFIG: deploy.KUBECONFIG}, artifacts: [paths]}
`})
	r, p := s.run(s.options())
	if r.Stages[1].Outcome != report.Passed || strings.Count(s.out.String(), "600 admin of kubeconfig") != 2 {
		t.Errorf("the command has not two kubeconfigs:\n%s", s.out.String())
	}
	paths, err := os.ReadFile(filepath.Join(p.Reports(), "artifacts", "paths"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Split(strings.TrimSpace(string(paths)), ":") {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left after the run: %v", path, err)
		}
	}
}

// TestKeyOfAKubeconfigIsMasked: a command that prints its kubeconfig shows no credentials.
func TestKeyOfAKubeconfigIsMasked(t *testing.T) {
	key := base64.StdEncoding.EncodeToString([]byte("-----BEGIN PRIVATE KEY-----\nc2VjcmV0LXNlY3JldA\n-----END PRIVATE KEY-----\n"))
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]"), "deployer.ci.yaml": `
stages:
  deploy: {uses: deploy, environment: production, outputs: [KUBECONFIG]}
  show: {command: [sh, -c, 'cat $KUBECONFIG; grep -o "client-key-data: .*" $KUBECONFIG | cut -d" " -f2 | base64 -d'], inputs: {KUBECONFIG: deploy.KUBECONFIG}}
  keep: {command: [sh, -c, 'cat $KUBECONFIG > copy'], artifacts: [copy], inputs: {KUBECONFIG: deploy.KUBECONFIG}}
`})
	s.write(filepath.Join(s.fake, "kubeconfig"), "kind: Config\nusers: [{name: admin, user: {\nclient-key-data: "+key+"\n}}, {name: other, user: {token: t0ken-of-other}}]\n")
	r, p := s.run(s.options())
	if r.Stages[1].Outcome != report.Passed || r.Stages[2].Outcome != report.Failed || !strings.Contains(r.Stages[2].Message, "copy contains a secret") {
		t.Errorf("stages %+v, %+v", r.Stages[1], r.Stages[2])
	}
	log, err := os.ReadFile(filepath.Join(p.Reports(), "show.log"))
	if err != nil || !strings.Contains(string(log), "kind: Config") {
		t.Errorf("log %q, %v", log, err)
	}
	for _, text := range []string{s.out.String(), string(log)} {
		for _, secret := range []string{key, "t0ken-of-other", "c2VjcmV0LXNlY3JldA"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is shown:\n%s", secret, text)
			}
		}
	}
}

// TestLeftoversOfAKilledRun: the next run removes the directories that only the
// killed run used.
func TestLeftoversOfAKilledRun(t *testing.T) {
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")})
	state := filepath.Join(s.fake, "state")
	for _, name := range []string{"kubeconfig-1", "stage-2", "plan-3"} {
		s.write(filepath.Join(state, name, "file"), "admin")
	}
	s.write(filepath.Join(state, "checkouts-of-mine", "file"), "kept")
	s.run(s.options())
	for _, name := range []string{"kubeconfig-1", "stage-2", "plan-3"} {
		if _, err := os.Stat(filepath.Join(state, name)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if _, err := os.Stat(filepath.Join(state, "checkouts-of-mine", "file")); err != nil {
		t.Error(err)
	}
}

// collector starts a collector of traces and returns the number of its requests.
func collector(t *testing.T) (requests func() int) {
	t.Helper()
	var mu sync.Mutex
	spans := 0
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		spans++
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return spans
	}
}

// requireBelowStage fails unless a printed TRACEPARENT is that of a span below the caller's.
func requireBelowStage(t *testing.T, out, before string) {
	t.Helper()
	i := strings.Index(out, before+"00-0af7651916cd43dd8448eb211c80319c-")
	if i < 0 || strings.Contains(out[i:], "b7ad6b7169203331") {
		t.Errorf("the command is not below the span of its stage:\n%s", out)
	}
}

func (s *site) spans() *telemetry.Spans {
	s.t.Helper()
	spans, err := telemetry.SpansFromEnvironment(s.t.Context(), os.Getenv, "v1")
	if err != nil {
		s.t.Fatal(err)
	}
	return spans
}

func TestStagesHaveSpans(t *testing.T) {
	requests := collector(t)
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]"), "deployer.ci.yaml": `
stages:
  deploy: {uses: deploy, environment: production}
  print: {command: [sh, -c, 'echo "parent $TRACEPARENT"']}
`})
	o := s.options()
	o.Spans = s.spans()
	s.run(o)
	requireBelowStage(t, s.out.String(), "parent ")
	if requests() == 0 {
		t.Error("nothing was sent")
	}
}

func TestDriftAndRollbackHaveSpans(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
	s.run(s.options())
	collector(t)
	s.write(filepath.Join(s.fake, "print"), "TRACEPARENT")
	for verb, do := range map[string]func(*pipeline.Pipeline) error{
		"apply":      func(p *pipeline.Pipeline) error { _, _, err := p.Drift(t.Context()); return err },
		"scale-down": func(p *pipeline.Pipeline) error { _, err := p.Rollback(t.Context(), "inventory.yaml", ""); return err },
	} {
		s.out.Reset()
		o := s.options()
		o.Spans = s.spans()
		p, err := pipeline.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := do(p); err != nil {
			t.Fatal(err)
		}
		p.Close(t.Context())
		requireBelowStage(t, s.out.String(), verb+" has TRACEPARENT=")
	}
}
