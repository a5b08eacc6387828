package pipeline_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/ci/report"
)

// started returns the ids and verbs of the runs that the fake deployer got since the last call.
func (s *site) started() (ids, verbs []string) {
	s.t.Helper()
	file := filepath.Join(s.fake, "ids")
	data, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	os.Remove(file)
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		ids, verbs = append(ids, words[0]), append(verbs, words[1])
	}
	return ids, verbs
}

// TestResumesTheRunThatWasWrittenDown: a run gets its id from the state that was written before it
// started. The next CI run resumes this id and no other one, and says which step it must be.
func TestResumesTheRunThatWasWrittenDown(t *testing.T) {
	s := deployed(t, nil)
	s.started()
	second := s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
	s.write(filepath.Join(s.fake, "fail scale-up @b"), "1")
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Failed)
	first, _ := s.started()
	if state := s.git("cat-file", "blob", "refs/deployer/state/inventory.yaml"); len(first) != 1 || !strings.Contains(state, first[0]) {
		t.Fatalf("runs %q, state %s", first, state)
	}
	s.calls()

	// Neither the newest run nor the first one is known: both are asked for, then the verb starts again.
	s.write(filepath.Join(s.fake, "fail resume"), "2")
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Failed)
	next, verbs := s.started()
	if diff := cmp.Diff([]string{"resume", "scale-up"}, verbs); diff != "" {
		t.Error(diff)
	}
	data, err := os.ReadFile(filepath.Join(s.fake, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "resume " + first[0] + " --yes --lock-timeout 30m --step=scale-up --step=n3 @b"; !slices.Contains(strings.Split(string(data), "\n"), want) {
		t.Errorf("no %q in\n%s", want, data)
	}
	s.calls()
	if err := os.Remove(filepath.Join(s.fake, "fail scale-up @b")); err != nil {
		t.Fatal(err)
	}
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	data, err = os.ReadFile(filepath.Join(s.fake, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	var resumed []string
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); words[0] == "resume" {
			resumed = append(resumed, words[1])
		}
	}
	if diff := cmp.Diff([]string{next[1], next[0], first[0]}, resumed); diff != "" {
		t.Errorf("resumed: %s", diff)
	}
	ids, _ := s.started()
	all := slices.Concat(first, next, ids)
	slices.Sort(all)
	if len(slices.Compact(all)) != len(first)+len(next)+len(ids) {
		t.Errorf("two runs have one id: %q", all)
	}
	if state := s.git("cat-file", "blob", "refs/deployer/state/inventory.yaml"); strings.Contains(state, `"runs"`) || !strings.Contains(state, second) {
		t.Errorf("the state of a verified cluster: %s", state)
	}
}
