package main

import (
	"os"
	"os/exec"
	"testing"
)

// TestFullDiskOfController limits files to 4 KiB, so that the log fails during the run:
// the hosts complete, and the summary comes before the error of the log.
func TestFullDiskOfController(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{"site.yaml": `
- hosts: all
  tasks:
    - {name: many, file: {path: "/many{{ item }}", content: x}, loop: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
`})
	limited := exec.CommandContext(t.Context(), "bash", "-c", `ulimit -f 4; exec -a deployer "$0" "$@"`, os.Args[0], "run", "site.yaml")
	out, err := limited.CombinedOutput()
	if limited.ProcessState.ExitCode() != exitFailed {
		t.Errorf("it ended with %v", err)
	}
	requireTexts(t, string(out), "site.yaml done", "2 hosts, 24 changed", "writing the run's log", "file too large")
	if got := s.hostFile(1, "many12"); got != "x" {
		t.Errorf("the last step has left %q", got)
	}
	shown, _ := s.deployer(exitOK, "runs", "show")
	requireTexts(t, shown, "killed after", "to continue, run:", "deployer resume")
}
