package pipeline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"deployer/ci/report"
)

// clusterOf returns an inventory of a cluster with one host, whose revision the fake
// deployer records as NAME-REVISION.
func clusterOf(name, revision, maxPods string) string {
	return fmt.Sprintf("# revision: %s-%s\ncluster: {name: %[1]s, kubernetes: v1.35.4, kubelet: {max_pods: %[3]s}}\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1}\n", name, revision, maxPods)
}

const threeEnvironments = `
environments:
  a: {inventories: [a.yaml], needs: []}
  b: {inventories: [b.yaml], needs: []}
  c: {inventories: [c.yaml], needs: [b]}
`

// TestStagesRunSideBySide: the commands of two stages wait for each other, so the run
// ends only when both are started before one of them has ended.
func TestStagesRunSideBySide(t *testing.T) {
	const meet = `touch "$FAKE_DIR/$ME"; n=0; while [ ! -e "$FAKE_DIR/$OTHER" ]; do n=$((n+1)); [ $n -lt 600 ] || exit 1; sleep 0.05; done; printf "part of a line"; echo " of $ME"`
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n1"), "deployer.ci.yaml": `
stages:
  first: {command: [sh, -c, '` + meet + `'], needs: [], inputs: {ME: first, OTHER: other}}
  other: {command: [sh, -c, '` + meet + `'], needs: [], inputs: {ME: other, OTHER: first}}
  last: {command: [echo, alone], needs: [first, other]}
`})
	r, p := s.run(s.options())
	s.requireOutcome(r, report.Nothing)
	for _, want := range []string{"first | part of a line of first\n", "other | part of a line of other\n", "\nalone\n"} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, s.out.String())
		}
	}
	log, err := os.ReadFile(filepath.Join(p.Reports(), "first.log"))
	if err != nil || string(log) != "part of a line of first\n" {
		t.Errorf("log %q, %v", log, err)
	}
}

func TestFailedStageSkipsItsDependentsOnly(t *testing.T) {
	files := map[string]string{"deployer.ci.yaml": threeEnvironments}
	for _, name := range []string{"a", "b", "c"} {
		files[name+".yaml"] = clusterOf(name, "1", "100")
	}
	s := newSite(t, files)
	s.write(filepath.Join(s.fake, "fail apply @b-1"), "1")
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Failed)
	calls := s.calls()
	slices.Sort(calls)
	if want := []string{"apply --yes @a-1", "apply --yes @b-1", "verify @a-1"}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
	outcomes := map[string]report.Outcome{}
	for _, stage := range r.Stages {
		outcomes[stage.Name] = stage.Outcome
	}
	for name, want := range map[string]report.Outcome{"deploy a": report.Passed, "verify a": report.Passed, "deploy b": report.Failed, "verify b": report.Skipped, "deploy c": report.Skipped, "verify c": report.Skipped} {
		if outcomes[name] != want {
			t.Errorf("%s: %s, want %s", name, outcomes[name], want)
		}
	}
	if r.Clusters[0].Outcome != report.Deployed || r.Clusters[1].Outcome != report.Failed || r.Clusters[2].Outcome != report.Skipped {
		t.Errorf("clusters: %s, %s, %s", r.Clusters[0].Outcome, r.Clusters[1].Outcome, r.Clusters[2].Outcome)
	}

	// The next run executes the remaining stages.
	if err := os.Remove(filepath.Join(s.fake, "fail apply @b-1")); err != nil {
		t.Fatal(err)
	}
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("resume --yes @b-1", "apply --yes @b-1", "verify @b-1", "apply --yes @c-1", "verify @c-1")
}
