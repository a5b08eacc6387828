//go:build lab

package conformance

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// network selects the conformance tests of the network.
const network = `\[sig-network\].*\[Conformance\]`

// networkTests is the number of conformance tests of the network in v1.36.3
// (kubernetes test/conformance/testdata/conformance.yaml).
const networkTests = 47

// TestNetworkBGP runs the conformance tests of the network on plugin bgp, and breaks runs of a few tests.
func TestNetworkBGP(t *testing.T) {
	scenario(t)
	s := cluster(t, "bgp")
	brokenRuns(s)
	networkConformance(s)
}

// TestNetworkCalico runs the conformance tests of the network on Calico.
func TestNetworkCalico(t *testing.T) {
	scenario(t)
	networkConformance(cluster(t, "calico"))
}

// cluster installs a master and two minions: the tests of the network need two nodes for pods.
func cluster(t *testing.T, plugin string) *harness.Site {
	t.Helper()
	s := harness.New(t, "conformance", plan.Spec{Masters: 1, Minions: 2})
	s.Edit(func(inv map[string]any) { harness.Section(inv, "cluster", "network")["plugin"] = plugin })
	s.Must("install")
	return s
}

// networkConformance requires that all conformance tests of the network pass, and that nothing of the run is
// left.
func networkConformance(s *harness.Site) {
	s.T.Helper()
	dir := s.T.TempDir()
	junit, results := filepath.Join(dir, "short.xml"), filepath.Join(dir, "results")
	o := s.Deployer("verify", "--conformance", "--yes", "--focus", network, "--junit", junit, "--results", results)
	s.RequireExit(o, 0)
	s.RequireTexts(o.Stdout, "conformance tests: 47 passed in ")
	s.RequireTexts(o.Stderr, " of 47 tests: ")
	s.T.Log(strings.TrimSpace(o.Stdout))
	tests, failed := readJUnit(s.T, junit)
	total.ran(tests, failed)
	if tests != networkTests || failed != 0 {
		s.T.Errorf("%s has %d tests, %d failed; want %d, none failed", junit, tests, failed, networkTests)
	}
	if tests, _ := readJUnit(s.T, filepath.Join(results, "junit_01.xml")); tests < 5000 {
		s.T.Errorf("the report of the tests themselves has %d tests", tests)
	}
	if log, err := os.ReadFile(filepath.Join(results, "e2e.log")); err != nil || !strings.Contains(string(log), "47 Passed | 0 Failed") {
		s.T.Errorf("%v, the log is\n%s", err, log)
	}
	requireNothingLeft(s)
	s.Must("verify")
	s.RequireTexts(s.Must("install").All(), "0 changed")
}

// requireNothingLeft requires that no object of a run exists.
func requireNothingLeft(s *harness.Site) {
	s.T.Helper()
	if left := strings.TrimSpace(s.Kubectl("m1", "get namespaces,clusterrolebindings -o name | grep -E 'deployer-conformance' || true")); left != "" {
		s.T.Errorf("left are %s", left)
	}
}

// readJUnit returns the number of tests in a JUnit report, and of those that failed.
func readJUnit(t *testing.T, path string) (tests, failed int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type testCase struct {
		Failure *struct{} `xml:"failure"`
	}
	var suites struct {
		Cases  []testCase `xml:"testcase"`
		Nested []struct {
			Cases []testCase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(content, &suites); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	all := suites.Cases
	for _, nested := range suites.Nested {
		all = append(all, nested.Cases...)
	}
	for _, c := range all {
		if c.Failure != nil {
			failed++
		}
	}
	return len(all), failed
}
