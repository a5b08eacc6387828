package main

import (
	"os"
	"strings"
	"testing"
)

// TestRunPage makes the page of a run in which hosts wait for each other in every way, and
// compares the kinds of waits: package timeline reads them from texts of the scheduler.
func TestRunPage(t *testing.T) {
	s := newTestSite(t, 3, map[string]string{"site.yaml": `
- name: waits
  hosts: all
  tasks:
    - {name: slow, shell: {cmd: sleep 0.4}, throttle: 1}
    - {name: together, shell: {cmd: "true"}, barrier: true}
    - {name: for all, shell: {cmd: sleep 0.3}, run_once: true}
    - name: turns
      rollout: {canary: [all], max_parallel: 1}
      block:
        - {name: file, file: {path: /turn, content: x}}
    - {name: labelled, shell: {cmd: 'case {{ host.name }} in *3) sleep 0.4;; esac'}, label: passed}
    - {name: needs all, shell: {cmd: "true"}, needs: [passed]}
    - {name: "<b>breaks</b>", shell: {cmd: "echo '<img src=x onerror=alert(1)>' >&2; false"}, when: host.name endsWith "3"}
- name: batches
  hosts: all
  serial: 1
  tasks:
    - {name: one by one, shell: {cmd: sleep 0.1}}
`})
	s.deployer(exitPartial, "run", "site.yaml")
	run := s.runs()[0].Header.Run
	out, _ := s.deployer(exitOK, "runs", "show", "--html")
	requireTexts(t, out, "wrote "+run+".html (")
	info, err := os.Stat(run + ".html")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, error %v", info, err)
	}
	text, err := os.ReadFile(run + ".html")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"deployer run site.yaml -i inventory.yaml", "&lt;b&gt;breaks&lt;/b&gt;", "onerror=alert(1)&gt;",
		"<td>throttle</td>", "<td>rollout</td>", "<td>barrier</td>", "<td>run_once</td>", "<td>label</td>", "<td>serial</td>"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, bad := range []string{"<b>", "<img", "<td>other</td>"} {
		if strings.Contains(string(text), bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	piped, _ := s.deployer(exitOK, "runs", "show", run, "--html=-")
	if piped != string(text) {
		t.Error("--html=- writes another page")
	}
	_, complaint := s.deployer(exitUsage, "runs", "show", "--html", "last.html")
	requireTexts(t, complaint, "--html=last.html")
	s.deployer(exitUsage, "runs", "show", "--html", "-o", "json")
	drawn, _ := s.deployer(exitOK, "runs", "show", run, "-o", "svg")
	requireTexts(t, drawn, "<svg ", "run "+run+":", "</svg>")
	s.deployer(exitOK, "runs", "show", "--html=last.html")
	if _, err := os.Stat("last.html"); err != nil {
		t.Error(err)
	}
}
