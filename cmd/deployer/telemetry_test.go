package main

import (
	"os"
	"strings"
	"testing"
)

// TestMetricsOfARun writes the metrics of a run, and warns without another exit code
// when they cannot be written. A dry run does not change them.
func TestMetricsOfARun(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{"site.yaml": "- {hosts: all, tasks: [{name: greeting, file: {path: /greeting, content: hello}}]}\n"})
	t.Setenv("DEPLOYER_METRICS_FILE", "deployer.prom")
	s.deployer(exitOK, "run", "site.yaml", "--check")
	if _, err := os.Stat("deployer.prom"); err == nil {
		t.Error("a dry run has written metrics")
	}
	s.deployer(exitOK, "run", "site.yaml")
	text, err := os.ReadFile("deployer.prom")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"deployer_run_success{", `deployer_run_steps{playbook="site.yaml",status="changed"} 2`, `deployer_run_hosts{playbook="site.yaml",state="completed"} 2`} {
		if !strings.Contains(string(text), line) {
			t.Errorf("the metrics lack %s:\n%s", line, text)
		}
	}
	t.Setenv("DEPLOYER_METRICS_FILE", "no-directory/deployer.prom")
	out, complaints := s.deployer(exitOK, "run", "site.yaml")
	if !strings.Contains(out+complaints, "writing the metrics of the run to no-directory/deployer.prom") {
		t.Errorf("no warning:\n%s%s", out, complaints)
	}
}
