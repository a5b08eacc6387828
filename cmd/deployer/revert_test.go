package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
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

// web changes what is there and makes new things, in turns of two; its handler
// makes nothing that could be put back.
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

// trees are all files of a fleet's hosts, but for the agents' own.
func (y *yard) trees() map[string]string {
	y.t.Helper()
	out := map[string]string{}
	for _, h := range y.fleet.Hosts {
		err := filepath.WalkDir(h.Root, func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(path, h.Root)
			switch {
			case err != nil:
				return err
			case name == "/var/lib/deployer":
				return fs.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			content := ""
			if info.Mode().IsRegular() {
				raw, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				content = string(raw)
			} else if info.Mode()&fs.ModeSymlink != 0 {
				content, _ = os.Readlink(path)
			}
			if name != "" && name != "/var" && name != "/var/lib" {
				out[h.Name+name] = fmt.Sprint(info.Mode(), " ", content)
			}
			return nil
		})
		if err != nil {
			y.t.Fatal(err)
		}
	}
	return out
}

func newWeb(t *testing.T, hosts int, o fleet.Options) *yard {
	t.Helper()
	y := newYardOf(t, hosts, o, map[string]string{"site.yaml": web})
	for i := range hosts {
		y.put(i, "etc/web.conf", "by hand\n")
		y.put(i, "srv/old/deep/file", "old")
	}
	return y
}

// TestRevert reverts all changes of a run on twenty hosts within its throttle; a second
// revert finds nothing to do, and the revert itself can be reverted.
func TestRevert(t *testing.T) {
	y := newWeb(t, 20, fleet.Options{})
	before := y.trees()
	y.deployer(exitOK, "run", "site.yaml", "-e", "release=2")
	after := y.trees()
	if maps.Equal(before, after) {
		t.Fatal("the run has changed nothing")
	}
	id := y.runs()[0].Header.Run

	out, _ := y.deployer(exitOK, "revert", id, "--check", "-D")
	says(t, out, "changes of run "+id+" to be reverted:", "n[001:020] (20 hosts): 10 files", "/srv/reloads: remove",
		"/srv/old/deep/file: bring back", "/etc/web.conf: put back", "-release 2", "+by hand")
	if !maps.Equal(after, y.trees()) {
		t.Fatal("a check has changed something")
	}
	_, complaint := y.deployer(exitRefused, "revert", id)
	says(t, complaint, "nothing was changed: standard input is not a terminal; confirm with --yes")

	out, _ = y.deployer(exitOK, "revert", id[:len(id)-2], "--yes")
	says(t, out, "put back: web", "the next run applies them again", "revert done", "20 hosts")
	if diff := cmp.Diff(before, y.trees()); diff != "" {
		t.Errorf("- before the run, + after its revert: %s", diff)
	}
	if n := most(t, y.runs()[0].Header.Run, "current", "is there"); n < 1 || n > 2 {
		t.Errorf("%d hosts were put back at a time, want at most 2", n)
	}
	out, _ = y.deployer(exitOK, "revert", id, "--yes")
	says(t, out, "nothing to revert")

	second := y.runs()[0].Header
	if second.Invocation.Verb != "revert" || second.Invocation.Reverts != id {
		t.Fatalf("the log of the revert says %+v", second.Invocation)
	}
	y.deployer(exitOK, "revert", second.Run, "--yes")
	if diff := cmp.Diff(after, y.trees()); diff != "" {
		t.Errorf("- after the run, + after its revert was reverted: %s", diff)
	}
}

// most is how many hosts were at most between two steps at one time, as a log
// says.
func most(t *testing.T, run, first, last string) int {
	t.Helper()
	inside, peak := map[string]bool{}, 0
	eachEvent(t, run, func(e *engine.Event) {
		switch {
		case e.Type != engine.EventStepEnd:
		case e.Name == first:
			inside[e.Host] = true
			peak = max(peak, len(inside))
		case e.Name == last:
			delete(inside, e.Host)
		}
	})
	if len(inside) > 0 {
		t.Errorf("%v came to %q and not to %q", inside, first, last)
	}
	return peak
}

func eachEvent(t *testing.T, run string, on func(*engine.Event)) {
	t.Helper()
	dir, err := journal.Dir()
	if err == nil {
		err = journal.Scan(journal.Path(dir, run), func(_ *journal.Header, e *engine.Event) error {
			if e != nil {
				on(e)
			}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRevertRefusesDrift checks that drift is listed with the run that made it and
// refused, and that --force restores it with a backup.
func TestRevertRefusesDrift(t *testing.T) {
	y := newWeb(t, 3, fleet.Options{})
	before := y.trees()
	y.deployer(exitOK, "run", "site.yaml", "-e", "release=2")
	first := y.runs()[0].Header.Run
	y.deployer(exitOK, "run", "site.yaml", "-e", "release=3", "--limit", "n002")
	second := y.runs()[0].Header.Run
	y.put(0, "srv/web/pages/a", "by hand")
	changed := y.trees()

	for _, args := range [][]string{{"--yes"}, {"--check"}} {
		out, complaint := y.deployer(exitRefused, append([]string{"revert", first}, args...)...)
		says(t, out, "changed since the run:", "n001: /srv/web/pages/a", "n002:", "(by run "+second+")")
		says(t, complaint, "nothing was changed", "--force")
	}
	if !maps.Equal(changed, y.trees()) {
		t.Fatal("a refused revert has changed something")
	}
	var asJSON struct {
		Hosts map[string]engine.RunHistory
	}
	out, _ := y.deployer(exitRefused, "revert", first, "--check", "-o", "json")
	if err := json.Unmarshal([]byte(out), &asJSON); err != nil || len(asJSON.Hosts) != 3 || !asJSON.Hosts["n003"].Known {
		t.Errorf("%v, %s", err, out)
	}
	y.deployer(exitOK, "revert", first, "--yes", "--limit", "n003")
	y.deployer(exitOK, "revert", first, "--yes", "--force")
	if diff := cmp.Diff(before, y.trees()); diff != "" {
		t.Errorf("- before the run, + after the forced revert: %s", diff)
	}
	y.deployer(exitOK, "revert", y.runs()[0].Header.Run, "--yes")
	if got := y.on(0, "srv/web/pages/a"); got != "by hand" {
		t.Errorf("what was overwritten by force is %q after that was reverted", got)
	}
}

// TestRevertWithoutLog reverts runs without a log on this machine with --original-run,
// and a run of exec.
func TestRevertWithoutLog(t *testing.T) {
	y := newWeb(t, 3, fleet.Options{})
	before := y.trees()
	for _, of := range []string{"site.yaml", "unknown"} {
		y.deployer(exitOK, "run", "site.yaml", "-e", "release=2")
		id := y.runs()[0].Header.Run
		dir, err := journal.Dir()
		if err == nil {
			err = os.Remove(journal.Path(dir, id))
		}
		if err != nil {
			t.Fatal(err)
		}
		_, complaint := y.deployer(exitUsage, "revert", id, "--yes")
		says(t, complaint, "there is no run", "--original-run")
		y.deployer(exitOK, "revert", id, "--yes", "--original-run", of, "-e", "release=2")
		if diff := cmp.Diff(before, y.trees()); diff != "" {
			t.Errorf("of %s: - before the run, + after its revert: %s", of, diff)
		}
	}
	y.deployer(exitOK, "exec", "all", "-m", "file", "-a", "{path: /etc/web.conf, content: x}")
	y.deployer(exitOK, "revert", y.runs()[0].Header.Run, "--yes")
	if diff := cmp.Diff(before, y.trees()); diff != "" {
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
    - {name: told the other, shell: {cmd: "true"}, delegate_to: n001}
`
	y := newYardOf(t, 2, fleet.Options{}, map[string]string{"site.yaml": book})
	y.deployer(exitOK, "run", "site.yaml")
	id := y.runs()[0].Header.Run
	out, _ := y.deployer(exitOK, "revert", id, "--check")
	says(t, out, "n001 (1 host): 5 files", "/n002-b: remove", "/conf: remove", "irreversible:", "n[001:002]: migrate the schema (/bin/sh -c 'true && true')", "n[001:002]: told the other")
	for _, wrong := range []string{"n001: out of", "n002: out of", "[001:002]: out of", "only looked", "1.play"} {
		if strings.Contains(out, wrong) {
			t.Errorf("it says %q:\n%s", wrong, out)
		}
	}

	y.write("site.yaml", strings.Replace(book, "  tasks:\n", "  tasks:\n    - {name: first, debug: {msg: x}}\n", 1))
	_, complaint := y.deployer(exitRefused, "revert", id, "--yes")
	says(t, complaint, "the playbook has changed since run", `"config" was step 1.play.1`, "--allow-changed-playbook")
	y.fleet.Hosts[1].Stop()
	out, _ = y.deployer(exitPartial, "revert", id, "--yes", "--allow-changed-playbook")
	says(t, out, "irreversible:", "n002: all changes of the run on the host, which is unreachable", "revert done")
	out, _ = y.deployer(exitPartial, "revert", id, "--yes", "--allow-changed-playbook") // nothing more on n001, and n002 stays as it is
	says(t, out, "nothing more of run "+id+" can be restored:", "the host, which is unreachable (HOST: connect: ")
	if y.on(0, "conf") != "-" || y.on(1, "conf") != "new" {
		t.Errorf("n001 has %q, n002 %q", y.on(0, "conf"), y.on(1, "conf"))
	}
	for _, wrong := range [][]string{{"revert"}, {"revert", "2001"}, {"revert", id, "--limit", "nobody"}} {
		y.deployer(exitUsage, wrong...)
	}
}

// TestRevertIsResumed resumes a revert that was cut off between a file and its handler;
// the handler runs.
func TestRevertIsResumed(t *testing.T) {
	y := newYardOf(t, 1, fleet.Options{}, map[string]string{"site.yaml": `
- hosts: all
  tasks:
    - {name: first, file: {path: /first, content: new}}
    - {name: config, file: {path: /conf, content: new}, notify: follow}
  handlers:
    - {name: follow, wait_for: {path: /ready, timeout: 100ms}}
`})
	y.put(0, "conf", "old")
	y.put(0, "ready", "")
	y.deployer(exitOK, "run", "site.yaml")
	id := y.runs()[0].Header.Run
	ready := filepath.Join(y.fleet.Hosts[0].Root, "ready")
	if err := os.Remove(ready); err != nil {
		t.Fatal(err)
	}
	out, _ := y.deployer(exitFailed, "revert", id, "--yes")
	says(t, out, "FAILED", "follow", "deployer resume")
	if got := y.on(0, "conf"); got != "old" {
		t.Fatalf("the file was not put back: %q", got)
	}
	y.put(0, "ready", "")
	out, _ = y.deployer(exitOK, "resume")
	says(t, out, "its handlers and gates are left to do", "revert done")
	last := y.runs()[0].Header
	followed := false
	eachEvent(t, last.Run, func(e *engine.Event) { followed = followed || e.Type == engine.EventStepEnd && e.Name == "follow" })
	if last.Invocation.Verb != "revert" || last.Resumes == "" || !followed {
		t.Errorf("the handler was forgotten, or the log says %+v", last)
	}
	out, _ = y.deployer(exitOK, "revert", id, "--yes")
	says(t, out, "nothing to revert")
}
