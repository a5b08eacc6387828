package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/test/fleet"
)

// web is a playbook that changes existing resources and creates new ones, with a
// throttle of two and a handler.
const web = `
- name: web
  hosts: all
  tasks:
    - {name: directory, directory: {path: /srv/web/pages, mode: "0750"}}
    - throttle: 2
      block:
        - {name: config, file: {path: /etc/web.conf, content: "release {{ release }}\n", mode: "0600"}, notify: reload}
        - {name: current, link: {path: /srv/current, to: "/srv/{{ release }}"}}
        - {name: is there, wait_for: {path: /etc/web.conf}}
    - {name: page, file: {path: "/srv/web/pages/{{ item }}", content: "{{ item }} {{ release }}"}, loop: [a, b]}
    - {name: old, absent: {path: /srv/old}}
    - {name: cleared, debug: {msg: "done"}}
  handlers:
    - {name: reload, file: {path: /srv/reloads, content: "{{ release }}"}}
`

// TestRevert reverts all changes of a run on twenty hosts within its throttle; a second
// revert finds nothing to do, and the revert itself can be reverted.
func TestRevert(t *testing.T) {
	s := newWebSite(t, 20, fleet.Options{})
	before := s.trees()
	s.deployer(exitOK, "run", "site.yaml", "-e", "release=2")
	after := s.trees()
	if maps.Equal(before, after) {
		t.Fatal("the run has changed nothing")
	}
	id := s.runs()[0].Header.Run

	out, _ := s.deployer(exitOK, "revert", id, "--check", "-D")
	requireTexts(t, out, "changes of run "+id+" to be reverted:", "n[001:020] (20 hosts): 10 files", "/srv/reloads: remove",
		"/srv/old/deep/file: bring back", "/etc/web.conf: restore", "-release 2", "+by hand")
	if !maps.Equal(after, s.trees()) {
		t.Fatal("a check has changed something")
	}
	_, complaint := s.deployer(exitRefused, "revert", id)
	requireTexts(t, complaint, "nothing was changed: standard input is not a terminal; confirm with --yes")

	out, _ = s.deployer(exitOK, "revert", id[:len(id)-2], "--yes")
	requireTexts(t, out, "restore: web", "the next run applies them again", "revert done", "20 hosts")
	if diff := cmp.Diff(before, s.trees()); diff != "" {
		t.Errorf("- before the run, + after its revert: %s", diff)
	}
	if n := maxParallel(t, s.runs()[0].Header.Run, "current", "is there"); n < 1 || n > 2 {
		t.Errorf("%d hosts were restored at a time, want at most 2", n)
	}
	out, _ = s.deployer(exitOK, "revert", id, "--yes")
	requireTexts(t, out, "nothing to revert")

	second := s.runs()[0].Header
	if second.Invocation.Verb != "revert" || second.Invocation.Reverts != id {
		t.Fatalf("the log of the revert says %+v", second.Invocation)
	}
	s.deployer(exitOK, "revert", second.Run, "--yes")
	if diff := cmp.Diff(after, s.trees()); diff != "" {
		t.Errorf("- after the run, + after its revert was reverted: %s", diff)
	}
}

// TestRevertRefusesDrift checks that drift is listed with the run that made it and
// refused, and that --force restores it with a backup.
func TestRevertRefusesDrift(t *testing.T) {
	s := newWebSite(t, 3, fleet.Options{})
	before := s.trees()
	s.deployer(exitOK, "run", "site.yaml", "-e", "release=2")
	first := s.runs()[0].Header.Run
	s.deployer(exitOK, "run", "site.yaml", "-e", "release=3", "--limit", "n002")
	second := s.runs()[0].Header.Run
	s.writeHostFile(0, "srv/web/pages/a", "by hand")
	changed := s.trees()

	for _, args := range [][]string{{"--yes"}, {"--check"}} {
		out, complaint := s.deployer(exitRefused, append([]string{"revert", first}, args...)...)
		requireTexts(t, out, "changed since the run:", "n001: /srv/web/pages/a", "n002:", "(by run "+second+")")
		requireTexts(t, complaint, "nothing was changed", "--force")
	}
	if !maps.Equal(changed, s.trees()) {
		t.Fatal("a refused revert has changed something")
	}
	var asJSON struct {
		Hosts map[string]engine.RunHistory
	}
	out, _ := s.deployer(exitRefused, "revert", first, "--check", "-o", "json")
	if err := json.Unmarshal([]byte(out), &asJSON); err != nil || len(asJSON.Hosts) != 3 || !asJSON.Hosts["n003"].Known {
		t.Errorf("%v, %s", err, out)
	}
	s.deployer(exitOK, "revert", first, "--yes", "--limit", "n003")
	s.deployer(exitOK, "revert", first, "--yes", "--force")
	if diff := cmp.Diff(before, s.trees()); diff != "" {
		t.Errorf("- before the run, + after the forced revert: %s", diff)
	}
	s.deployer(exitOK, "revert", s.runs()[0].Header.Run, "--yes")
	if got := s.hostFile(0, "srv/web/pages/a"); got != "by hand" {
		t.Errorf("what was overwritten by force is %q after that was reverted", got)
	}
}

// TestRevertWithoutLog reverts runs without a log on this machine with --original-run,
// and a run of exec.
func TestRevertWithoutLog(t *testing.T) {
	s := newWebSite(t, 3, fleet.Options{})
	before := s.trees()
	for _, of := range []string{"site.yaml", "unknown"} {
		s.deployer(exitOK, "run", "site.yaml", "-e", "release=2")
		id := s.runs()[0].Header.Run
		dir, err := journal.Dir()
		if err == nil {
			err = os.Remove(journal.Path(dir, id))
		}
		for host := range 3 {
			err = errors.Join(err, os.Remove(s.recordPath(host, id)))
		}
		if err != nil {
			t.Fatal(err)
		}
		_, complaint := s.deployer(exitUsage, "revert", id, "--yes")
		requireTexts(t, complaint, "there is no run", "--original-run")
		s.deployer(exitOK, "revert", id, "--yes", "--original-run", of, "-e", "release=2")
		if diff := cmp.Diff(before, s.trees()); diff != "" {
			t.Errorf("of %s: - before the run, + after its revert: %s", of, diff)
		}
	}
	s.deployer(exitOK, "exec", "all", "-m", "file", "-a", "{path: /etc/web.conf, content: x}")
	s.deployer(exitOK, "revert", s.runs()[0].Header.Run, "--yes")
	if diff := cmp.Diff(before, s.trees()); diff != "" {
		t.Errorf("of exec: - before, + after: %s", diff)
	}
}

// TestRevertListsIrreversible checks that commands and unreachable hosts are listed as
// irreversible, and that a changed playbook is refused.
func TestRevertListsIrreversible(t *testing.T) {
	book := `
- hosts: all
  tasks:
    - {name: config, file: {path: /conf, content: new}}
    - {name: migrate the schema, shell: {cmd: "true &&\n  true"}}
    - {name: only looked, shell: {cmd: "true"}, changed_when: false}
    - name: "out of rotation"
      file: {path: "/{{ host.name }}-{{ item }}", content: x}
      loop: [a, b]
      delegate_to: n001
    - {name: note delegated, shell: {cmd: "true"}, delegate_to: n001}
`
	s := newTestSiteWith(t, 2, fleet.Options{}, map[string]string{"site.yaml": book})
	s.deployer(exitOK, "run", "site.yaml")
	id := s.runs()[0].Header.Run
	out, _ := s.deployer(exitOK, "revert", id, "--check")
	requireTexts(t, out, "n001 (1 host): 5 files", "/n002-b: remove", "/conf: remove", "irreversible:", "n[001:002]: migrate the schema (/bin/sh -c 'true && true')", "n[001:002]: note delegated")
	for _, wrong := range []string{"n001: out of", "n002: out of", "[001:002]: out of", "only looked", "1.play"} {
		if strings.Contains(out, wrong) {
			t.Errorf("it says %q:\n%s", wrong, out)
		}
	}

	s.write("site.yaml", strings.Replace(book, "  tasks:\n", "  tasks:\n    - {name: first, debug: {msg: x}}\n", 1))
	_, complaint := s.deployer(exitRefused, "revert", id, "--yes")
	requireTexts(t, complaint, "the playbook has changed since run", `"config" was step 1.play.1`, "--allow-changed-playbook")
	s.fleet.Hosts[1].Stop()
	out, _ = s.deployer(exitPartial, "revert", id, "--yes", "--allow-changed-playbook")
	requireTexts(t, out, "irreversible:", "n002: all changes of the run on the host, which is unreachable", "revert done")
	out, _ = s.deployer(exitPartial, "revert", id, "--yes", "--allow-changed-playbook") // nothing more on n001, and n002 stays as it is
	requireTexts(t, out, "nothing more of run "+id+" can be restored:", "the host, which is unreachable (HOST: connect: ")
	if s.hostFile(0, "conf") != "-" || s.hostFile(1, "conf") != "new" {
		t.Errorf("n001 has %q, n002 %q", s.hostFile(0, "conf"), s.hostFile(1, "conf"))
	}
	for _, wrong := range [][]string{{"revert"}, {"revert", "2001"}, {"revert", id, "--limit", "nobody"}} {
		s.deployer(exitUsage, wrong...)
	}
}

// TestRevertIsResumed resumes a revert that was cut off between a file and its handler;
// the handler runs.
func TestRevertIsResumed(t *testing.T) {
	s := newTestSiteWith(t, 1, fleet.Options{}, map[string]string{"site.yaml": `
- hosts: all
  tasks:
    - {name: first, file: {path: /first, content: new}}
    - {name: config, file: {path: /conf, content: new}, notify: follow}
  handlers:
    - {name: follow, wait_for: {path: /ready, timeout: 100ms}}
`})
	s.writeHostFile(0, "conf", "old")
	s.writeHostFile(0, "ready", "")
	s.deployer(exitOK, "run", "site.yaml")
	id := s.runs()[0].Header.Run
	ready := filepath.Join(s.fleet.Hosts[0].Root, "ready")
	if err := os.Remove(ready); err != nil {
		t.Fatal(err)
	}
	out, _ := s.deployer(exitFailed, "revert", id, "--yes")
	requireTexts(t, out, "FAILED", "follow", "deployer resume")
	if got := s.hostFile(0, "conf"); got != "old" {
		t.Fatalf("the file was not restored: %q", got)
	}
	s.writeHostFile(0, "ready", "")
	out, _ = s.deployer(exitOK, "resume")
	requireTexts(t, out, "its handlers and gates are left to do", "revert done")
	last := s.runs()[0].Header
	followed := false
	eachEvent(t, last.Run, func(e *engine.Event) { followed = followed || e.Type == engine.EventStepEnd && e.Name == "follow" })
	if last.Invocation.Verb != "revert" || last.Resumes == "" || !followed {
		t.Errorf("the handler was forgotten, or the log says %+v", last)
	}
	out, _ = s.deployer(exitOK, "revert", id, "--yes")
	requireTexts(t, out, "nothing to revert")
}
