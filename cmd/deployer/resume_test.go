package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/runs/reach"
	"deployer/test/fleet"
)

const motd = `
- hosts: all
  tasks:
    - {name: motd, file: {path: /motd, content: "{{ .release }} {{ .token }}"}}
    - {name: late, file: {path: /late/motd, content: x}}
`

// TestResume: a run that failed on a host is resumed there with the same
// variables, those that look secret have to be given again, and a run that came
// to its end is not resumed.
func TestResume(t *testing.T) {
	y := newYard(t, 3, map[string]string{"site.yaml": motd})
	for _, host := range []int{0, 1} {
		y.put(host, "late/ready", "")
	}
	y.site.MaxFail = map[string]string{"all": "1"}
	y.inventory()
	out, _ := y.deployer(exitPartial, "run", "site.yaml", "-e", "release=7", "-e", "token=hunter2")
	id := y.runs()[0].Header.Run
	says(t, out, "n003", "late", "to go on:", "deployer resume "+id+" -e token=...")

	shown, _ := y.deployer(exitOK, "runs", "show", id)
	says(t, shown, "deployer run site.yaml", "variables: release, token", "changed:", "n[001:002] (2 hosts): 2 files",
		"n003 (1 host): 1 file", "site.yaml partly done", "deployer resume "+id)
	listed, _ := y.deployer(exitOK, "runs", "list")
	says(t, listed, "RUN", id, "run", "site.yaml", "partly done", "3", "5", "1")
	tailed, _ := y.deployer(exitOK, "runs", "tail", id)
	says(t, tailed, "motd", "FAILED", "PARKED", "site.yaml partly done")
	raw, _ := y.deployer(exitOK, "runs", "show", id, "-o", "json")
	if strings.Contains(raw+shown+tailed+out, "hunter2") {
		t.Error("the secret of the command line is told")
	}

	_, complaint := y.deployer(exitUsage, "resume")
	says(t, complaint, "give these variables again", "deployer resume "+id+" -e token=...")
	y.put(2, "late/ready", "")
	y.write("site.yaml", motd+"\n# changed\n")
	_, complaint = y.deployer(exitRefused, "resume", "-e", "token=hunter2")
	says(t, complaint, "not the same any more since run "+id, "site.yaml", "--anyway")
	y.write("site.yaml", motd)

	out, _ = y.deployer(exitOK, "resume", "-e", "token=hunter2")
	says(t, out, "1 host, 1 changed")
	if got := y.on(2, "motd") + y.on(2, "late/motd"); got != "7 hunter2x" {
		t.Errorf("n003 has %q", got)
	}
	last := y.runs()[0].Header
	if last.Resumes != id || last.Call.Limit != "n003" {
		t.Errorf("the second run: %+v", last)
	}
	_, complaint = y.deployer(exitUsage, "resume")
	says(t, complaint, "nothing to resume")
	_, complaint = y.deployer(exitUsage, "resume", last.Run)
	says(t, complaint, "nothing to resume: run "+last.Run)
	_, complaint = y.deployer(exitUsage, "resume", "2001")
	says(t, complaint, `there is no run "2001"`)
}

// TestResumeAfterKill: a run whose process was killed in the middle is known as
// such, and goes on to the end.
func TestResumeAfterKill(t *testing.T) {
	var book strings.Builder
	book.WriteString("- hosts: all\n  tasks:\n")
	for i := range 20 {
		fmt.Fprintf(&book, "    - {name: step %d, file: {path: /file%d, content: x}}\n", i, i)
	}
	slow := fleet.Options{Before: func(context.Context, *fleet.Host, string) { time.Sleep(20 * time.Millisecond) }}
	y := newYardOf(t, 2, slow, map[string]string{"site.yaml": book.String()})

	victim := exec.CommandContext(t.Context(), os.Args[0], "run", "site.yaml", "-o", "json")
	victim.Args[0] = "deployer" // see TestMain
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), `"name":"step 5"`) {
			break
		}
	}
	if err := victim.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = victim.Wait()
	id := y.runs()[0].Header.Run
	shown, _ := y.deployer(exitOK, "runs", "show")
	says(t, shown, "run "+id, "killed", "changed:", "killed after", "deployer resume "+id)
	if got := y.on(0, "file19"); got != "-" {
		t.Fatal("the run had come to its end when it was killed")
	}
	summary, _ := y.deployer(exitOK, "resume")
	says(t, summary, "site.yaml done", "2 hosts")
	for host := range 2 {
		for i := range 20 {
			if got := y.on(host, fmt.Sprintf("file%d", i)); got != "x" {
				t.Errorf("host %d, file %d: %q", host, i, got)
			}
		}
	}
	last := y.runs()[0]
	if last.Header.Resumes != id || last.Report.Changed() >= 40 {
		t.Errorf("%+v, %d changed", last.Header, last.Report.Changed())
	}
	taken, _ := y.deployer(exitOK, "revert", last.Header.Run, "--yes")
	says(t, taken, "went on from run "+id, "deployer revert "+id)
	y.deployer(exitOK, "revert", id, "--yes")
	if got := y.on(0, "file0") + y.on(1, "file19"); got != "--" {
		t.Errorf("after both are reverted: %q", got)
	}
}

// TestLastUnfinished: which run is meant when none is named.
func TestLastUnfinished(t *testing.T) {
	call := func(book string) journal.Call { return journal.Call{Verb: "run", Playbook: book, Inventory: "/i"} }
	exec, other := journal.Call{Verb: "exec", Inventory: "/i"}, journal.Call{Verb: "run", Playbook: "/a", Inventory: "/other"}
	for name, c := range map[string]struct {
		calls    []journal.Call // newest first
		outcomes []engine.Outcome
		want     int
	}{
		"the newest":                  {[]journal.Call{call("/a"), call("/a")}, []engine.Outcome{journal.Killed, journal.Killed}, 0},
		"finished since":              {[]journal.Call{call("/a"), call("/a")}, []engine.Outcome{engine.RunDone, journal.Killed}, -1},
		"another playbook since":      {[]journal.Call{call("/b"), call("/a")}, []engine.Outcome{engine.RunDone, engine.RunPartial}, 1},
		"a command in between":        {[]journal.Call{exec, call("/a")}, []engine.Outcome{engine.RunStopped, engine.RunInterrupted}, 1},
		"of another inventory":        {[]journal.Call{other}, []engine.Outcome{journal.Killed}, -1},
		"one that goes on is told so": {[]journal.Call{call("/a")}, []engine.Outcome{journal.Running}, 0},
	} {
		var all []*journal.Record
		for i := range c.calls {
			all = append(all, &journal.Record{Header: journal.Header{Call: c.calls[i]}, Outcome: c.outcomes[i]})
		}
		var want *journal.Record
		if c.want >= 0 {
			want = all[c.want]
		}
		if got := lastUnfinished(all, "/i"); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestChangedSince(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	at := func(name string) string { return filepath.Join(here, name) }
	h := journal.Header{Deployer: "v0", Files: map[string]string{at("a"): "1", at("b"): "2", "/c": "3"}}
	want := []string{"/c (not used any more)", "b", "d (new)", "deployer itself (v0, now " + version + ")"}
	if diff := cmp.Diff(want, changedSince(h, map[string]string{at("a"): "1", at("b"): "x", at("d"): "4"})); diff != "" {
		t.Error(diff)
	}
}

// TestCallsComeBack: what is written down of a call is enough to give it again.
func TestCallsComeBack(t *testing.T) {
	t.Chdir(t.TempDir())
	o := runOptions{inventory: "i.yaml", limit: "web", tags: []string{"a"}, skipTags: []string{"b"}, forks: 7, lock: lockHosts}
	if diff := cmp.Diff(o, optionsOf(callOf("run", "site.yaml", o)), cmp.AllowUnexported(runOptions{}, reach.Asking{})); diff != "" {
		t.Error(diff)
	}
}
