package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine/journal"
)

// TestRecordsReachNoLookup checks that a variable in the record of a hostile host names no
// file that a lookup makes or reads while the run of that record is reverted, until a person
// has confirmed the variable.
func TestRecordsReachNoLookup(t *testing.T) {
	const included = "- {name: two, file: {path: /two, content: x}}\n"
	files := map[string]string{
		"group_vars/all.yaml": "store: store/key\nkey: \"{{ lookup('password', playbook_store + ' length=8') }}\"\nplaybook_store: \"{{ top }}/key\"\n",
		"site.yaml":           "- hosts: all\n  tasks:\n    - {name: one, file: {path: /one, content: x}}\n",
		"loop.yaml":           "- hosts: all\n  tasks:\n    - {name: one, file: {path: /one, content: x}}\n    - {include_tasks: two.yaml, loop: \"q('password', top + '/item length=8')\"}\n",
		"two.yaml":            included,
	}
	s := newTestSite(t, 2, files)
	honest := t.TempDir()
	s.deployer(exitOK, "run", "site.yaml", "-e", "top="+honest)
	s.deployer(exitOK, "run", "loop.yaml", "-e", "top="+honest)
	loop, site := s.runs()[0].Header.Run, s.runs()[1].Header.Run
	forged := t.TempDir()
	for _, run := range []string{loop, site} {
		for host := range 2 {
			data := s.forge(host, run, func(h *journal.Header) { h.Invocation.Extra["top"] = forged }, nil)
			s.write(s.recordPath(host, run), string(data))
		}
	}
	s.anotherMachine(files)
	untouched := func() {
		t.Helper()
		if made, err := os.ReadDir(forged); err != nil || len(made) > 0 {
			t.Fatalf("a lookup has made %v, error %v", made, err)
		}
	}

	out, complaint := s.deployer(exitOK, "revert", site, "-i", "prod/hosts.yaml", "--playbook", "site.yaml", "--check")
	requireTexts(t, complaint, "top")
	requireTexts(t, out, "/one")
	untouched()
	s.deployer(exitRefused, "revert", site, "-i", "prod/hosts.yaml", "--playbook", "site.yaml")
	untouched()
	_, complaint = s.deployer(exitUsage, "revert", loop, "-i", "prod/hosts.yaml", "--playbook", "loop.yaml", "--check")
	requireTexts(t, complaint, "loop.yaml:4", "it reads this machine")
	untouched()

	s.deployer(exitOK, "revert", site, "-i", "prod/hosts.yaml", "--playbook", "site.yaml", "--yes")
	if _, err := os.Stat(filepath.Join(forged, "key")); err != nil {
		t.Errorf("the confirmed variable names no file: %v", err)
	}
	if _, err := os.Stat(s.hostFile(0, "/one")); err == nil {
		t.Error("the run was not reverted")
	}
}

// TestListsEvaluateNoLookup checks that run --list, graph and the inputs that CI reads make no
// file for a lookup.
func TestListsEvaluateNoLookup(t *testing.T) {
	top := t.TempDir()
	s := newTestSite(t, 1, map[string]string{
		"group_vars/all.yaml": "key: \"{{ lookup('password', '" + top + "/inventory') }}\"\n",
		"site.yaml": strings.ReplaceAll(`- hosts: all
  vars: {of_play: "{{ lookup('password', 'TOP/play') }}"}
  tasks:
    - {name: one, file: {path: /one, mode: "{{ of_play }}"}}
    - {name: two, file: {path: /two, mode: "{{ key }}"}}
    - {include_tasks: tasks.yaml, loop: "q('password', 'TOP/loop')"}
`, "TOP", top),
		"tasks.yaml": "- {name: three, file: {path: /three, content: x}}\n",
	})
	for _, args := range [][]string{{"run", "site.yaml", "--list"}, {"graph", "site.yaml", "--format", "mermaid"}} {
		out, _ := s.deployer(exitOK, args...)
		requireTexts(t, out, "one", "two", "three")
		if made, err := os.ReadDir(top); err != nil || len(made) > 0 {
			t.Errorf("%v has made %v, error %v", args, made, err)
		}
	}
}
