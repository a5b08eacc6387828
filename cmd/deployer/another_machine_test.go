package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/journal"
	"deployer/engine/record"
	"deployer/test/fleet"
)

// anotherMachine changes to another directory, state directory and temporary directory, with
// only the inventory and the given files, which are at other paths than before. Nothing of the
// machine before is left.
func (s *testSite) anotherMachine(files map[string]string) {
	s.t.Helper()
	inventory, err := os.ReadFile("inventory.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
	lost, err := os.Getwd()
	if err != nil {
		s.t.Fatal(err)
	}
	dir := s.t.TempDir()
	s.t.Chdir(dir)
	if err := os.RemoveAll(lost); err != nil {
		s.t.Fatal(err)
	}
	s.write("home/tmp/empty", "")
	s.t.Setenv("TMPDIR", filepath.Join(dir, "home", "tmp"))
	s.t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "home", "state"))
	s.t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "home", "cache"))
	s.write("inventory.yaml", string(inventory))
	s.write("prod/hosts.yaml", string(inventory))
	for name, content := range files {
		s.write(name, content)
	}
}

// slowHosts have steps that take some time.
var slowHosts = fleet.Options{Before: func(context.Context, *fleet.Host, string) { time.Sleep(20 * time.Millisecond) }}

// thirty returns a playbook of thirty steps with files, a loop, a handler and a
// barrier.
func thirty() string {
	var book strings.Builder
	book.WriteString("- hosts: all\n  handlers:\n    - {name: reload, file: {path: /reloads, content: \"{{ release }}\"}}\n  tasks:\n")
	for i := range 30 {
		fmt.Fprintf(&book, "    - {name: step %d, file: {path: \"/{{ item }}%d\", content: \"{{ release }}\"}, loop: [a, b], notify: reload, barrier: %v}\n", i, i, i%10 == 9)
	}
	return book.String()
}

// TestResumeOnAnotherMachine kills the controller at random places. Another machine,
// with only inventory, playbook and key, lists the run, shows it, and continues it to
// the same result as an uninterrupted run.
func TestResumeOnAnotherMachine(t *testing.T) {
	whole := newTestSite(t, 3, map[string]string{"site.yaml": thirty()})
	whole.deployer(exitOK, "run", "site.yaml", "-e", "release=7")
	want := whole.trees()

	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	for range 3 {
		at := fmt.Sprintf(`"name":"step %d"`, random.IntN(30))
		t.Run(at, func(t *testing.T) {
			s := newTestSiteWith(t, 3, slowHosts, map[string]string{"site.yaml": thirty()})
			s.kill([]string{at, "step.end"}, "run", "site.yaml", "-e", "release=7")
			id := s.runs()[0].Header.Run

			s.anotherMachine(map[string]string{"books/site.yaml": thirty()})
			listed, _ := s.deployer(exitOK, "runs", "list", "-i", "prod/hosts.yaml")
			requireTexts(t, listed, "FOUND", id, "site.yaml", "killed", "n001,n002,n003")
			shown, _ := s.deployer(exitOK, "runs", "show", id[:len(id)-1])
			requireTexts(t, shown, "run "+id, "killed", "found: n001, n002, n003", "killed after", "deployer resume "+id)
			_, complaint := s.deployer(exitUsage, "resume", "-i", "prod/hosts.yaml")
			requireTexts(t, complaint, "run "+id+" was deployer run /", "site.yaml", "name this playbook on this machine", "--playbook FILE")
			_, complaint = s.deployer(exitUsage, "resume", "-i", "prod/hosts.yaml", "--playbook", "prod/hosts.yaml")
			requireTexts(t, complaint, "name the same playbook")
			_, complaint = s.deployer(exitRefused, "resume", "-i", "prod/hosts.yaml", "--playbook", "books/site.yaml")
			requireTexts(t, complaint, "only the record of these hosts says", "-e release=7", "confirm with --yes")

			out, complaint := s.deployer(exitOK, "resume", "-i", "prod/hosts.yaml", "--playbook", "books/site.yaml", "--yes")
			requireTexts(t, complaint, "resuming run "+id, "found: n001, n002, n003")
			requireTexts(t, out, "site.yaml done", "3 hosts")
			if diff := cmp.Diff(want, s.trees()); diff != "" {
				t.Error(diff)
			}
			last := s.runs()[0]
			if last.Header.Resumes != id || last.Report.Changed() >= 3*61 {
				t.Errorf("%+v, %d changed", last.Header, last.Report.Changed())
			}
			_, complaint = s.deployer(exitUsage, "resume", "-i", "prod/hosts.yaml", "--playbook", "books/site.yaml", "--from-hosts")
			requireTexts(t, complaint, "nothing to resume")
		})
	}
}

// TestInterruptedCommandIsKnownOnAnotherMachine checks that hosts learn from the
// record which runs are resumed: a command that was interrupted by the death of the
// first controller is treated according to on_resume. (A node that a killed run has
// cordoned is recognised by the same ids.)
func TestInterruptedCommandIsKnownOnAnotherMachine(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	book := fmt.Sprintf(`
- hosts: all
  tasks:
    - {name: once, command: {argv: [sh, -c, "echo x >>%s; sleep 2"], on_resume: skip}}
    - {name: behind, file: {path: /behind, content: x}}
`, mark)
	s := newTestSite(t, 1, map[string]string{"site.yaml": book})
	s.kill([]string{`"name":"once"`, "step.start"}, "run", "site.yaml")
	first := s.runs()[0].Header.Run
	s.dieInStep(0, first)
	s.anotherMachine(map[string]string{"site.yaml": book})
	s.kill([]string{"host.up"}, "resume", "--playbook", "site.yaml", "--lock-timeout", "1m")
	if id := s.runs()[0].Header.Resumes; id != first {
		t.Fatalf("the second run resumes %q, want %s", id, first)
	}
	s.anotherMachine(map[string]string{"site.yaml": book})
	s.deployer(exitOK, "resume", "--playbook", "site.yaml", "--lock-timeout", "1m")
	if data, err := os.ReadFile(mark); err != nil || string(data) != "x\n" {
		t.Errorf("the command has run %q times, %v", data, err)
	}
	if got := s.hostFile(0, "behind"); got != "x" {
		t.Errorf("behind: %q", got)
	}
}

// dieInStep waits until the agent of a lost controller has ended its step, and changes the
// journal on the host to that of an agent that has died in it.
func (s *testSite) dieInStep(host int, run string) {
	s.t.Helper()
	path := filepath.Join(filepath.Dir(s.recordPath(host, run)), "journal.jsonl")
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if begun, _, ended := strings.Cut(string(data), "\"status\""); err == nil && ended {
			s.write(path, begun[:strings.LastIndexByte(begun, '\n')+1])
			return
		}
	}
	s.t.Fatal("the step has not ended")
}

// TestRevertOnAnotherMachine reverts a run from another machine, kills that revert, and
// resumes it from a third.
func TestRevertOnAnotherMachine(t *testing.T) {
	s := newTestSiteWith(t, 3, slowHosts, map[string]string{"site.yaml": thirty()})
	before := s.trees()
	s.deployer(exitOK, "run", "site.yaml", "-e", "release=7")
	id := s.runs()[0].Header.Run

	s.anotherMachine(map[string]string{"site.yaml": thirty()})
	_, complaint := s.deployer(exitUsage, "revert", id, "--yes")
	requireTexts(t, complaint, "run "+id+" was deployer run", "--playbook FILE")
	s.kill([]string{`"name":"step 15"`, `"status":"changed"`}, "revert", id, "--playbook", "site.yaml", "--yes")

	s.anotherMachine(map[string]string{"site.yaml": thirty()})
	_, complaint = s.deployer(exitRefused, "resume", "--playbook", "site.yaml", "--lock-timeout", "1m")
	requireTexts(t, complaint, "it reverts run "+id, "confirm with --yes")
	s.deployer(exitOK, "resume", "--playbook", "site.yaml", "--yes", "--lock-timeout", "1m")
	if diff := cmp.Diff(before, s.trees()); diff != "" {
		t.Error(diff)
	}
}

// TestPlanOnAnotherMachine kills an apply, and continues it on a machine that has no copy
// of the plan; a third machine estimates the time of a plan by the records.
func TestPlanOnAnotherMachine(t *testing.T) {
	book := strings.ReplaceAll(thirty(), "{{ release }}", "7")
	s := newTestSiteWith(t, 3, slowHosts, map[string]string{"site.yaml": book})
	s.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	s.kill([]string{`"name":"step 12"`, "step.end", `"changed"`}, "apply", "plan.json")
	id := s.runs()[0].Header.Run

	s.anotherMachine(map[string]string{"books/site.yaml": book})
	resume := []string{"--playbook", "books/site.yaml", "--lock-timeout", "1m"}
	out, complaint := s.deployer(exitRefused, append([]string{"resume", id}, resume...)...)
	requireTexts(t, out, "plan of site.yaml for 3 hosts", "step 29", "3 of 3 hosts would change")
	requireTexts(t, complaint, "resuming run "+id, "nothing was changed", "confirm with --yes")
	s.kill([]string{`"name":"step 20"`, "step.end", `"changed"`}, append([]string{"resume", id, "--yes"}, resume...)...)
	// The resume before is a run of this machine, which has stored the confirmed plan.
	s.deployer(exitOK, append([]string{"resume"}, resume...)...)
	if got := s.hostFile(2, "b29"); got != "7" {
		t.Errorf("the last step has left %q", got)
	}
	s.anotherMachine(map[string]string{"site.yaml": strings.ReplaceAll(book, `content: "7"`, `content: "8"`)})
	out, _ = s.deployer(exitOK, "plan", "run", "site.yaml")
	requireTexts(t, out, "expected time: about", "by the last run of this playbook")
}

// TestRunThatGoesOn checks that another machine shows a run in progress, and that its
// own run is refused with the holder and the command that follows the run in
// progress.
func TestRunThatGoesOn(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{"site.yaml": "- hosts: all\n  tasks:\n    - {name: wait, wait_for: {path: /go}}\n"})
	first := make(chan int)
	go func() {
		var out bytes.Buffer
		first <- run(t.Context(), []string{"run", "site.yaml"}, strings.NewReader(""), &out, &out)
	}()
	var id string
	for end := time.Now().Add(10 * time.Second); id == "" && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if all, _ := filepath.Glob(s.recordPath(0, "*")); len(all) == 1 {
			id = filepath.Base(filepath.Dir(all[0]))
		}
	}
	shown, _ := s.deployer(exitOK, "runs", "show", id, "--from-hosts")
	requireTexts(t, shown, "running", "found: here, n001, n002")
	s.anotherMachine(map[string]string{"site.yaml": "- {hosts: all, tasks: [{debug: {msg: x}}]}\n"})
	shown, _ = s.deployer(exitOK, "runs", "show")
	requireTexts(t, shown, "running", "found: n001, n002", "in progress: as process", "which holds the lock")
	_, complaint := s.deployer(exitUsage, "resume", "--playbook", "site.yaml")
	requireTexts(t, complaint, "is still running", "deployer runs show "+id+" --from-hosts")
	out, _ := s.deployer(exitRefused, "run", "site.yaml")
	requireTexts(t, out, "run "+id+" (run) by", "to follow it: deployer runs show "+id+" --from-hosts", "--lock-timeout")
	for host := range 2 {
		s.writeHostFile(host, "go", "")
	}
	if code := <-first; code != exitOK {
		t.Errorf("the first run ended with %d", code)
	}
	s.deployer(exitOK, "run", "site.yaml")
}

// TestRecordsOfHostileHosts checks that records which a host has damaged, truncated, forged
// or made up are left out, refused, or shown to be confirmed.
func TestRecordsOfHostileHosts(t *testing.T) {
	const book = "- hosts: all\n  tasks:\n    - {name: one, file: {path: /one, content: x}}\n    - {name: two, fail: {msg: no}}\n"
	s := newTestSite(t, 3, map[string]string{"site.yaml": book})
	s.deployer(exitFailed, "run", "site.yaml")
	id := s.runs()[0].Header.Run
	whole, err := os.ReadFile(s.recordPath(0, id))
	if err != nil {
		t.Fatal(err)
	}
	forged := s.forge(0, id, func(h *journal.Header) { h.Invocation.Extra = map[string]any{"content": "evil\x1b[2J"} }, nil)
	s.anotherMachine(map[string]string{"site.yaml": book})
	records := func(contents ...[]byte) {
		for host, content := range contents {
			if content == nil {
				_ = os.Remove(s.recordPath(host, id))
			} else {
				s.write(s.recordPath(host, id), string(content))
			}
		}
	}
	show := []string{"runs", "show", id, "-i", "prod/hosts.yaml"}

	records(nil, whole[:len(whole)-10], whole[:20])
	shown, complaint := s.deployer(exitOK, show...)
	requireTexts(t, shown, "killed", "found: n002, n003")
	requireTexts(t, complaint, "records of n003", "the record has no header")

	damaged := bytes.Clone(whole)
	damaged[len(damaged)-20] ^= 1
	records(damaged, whole, whole)
	shown, _ = s.deployer(exitOK, show...)
	requireTexts(t, shown, "aborted")

	records(forged, whole, whole)
	_, complaint = s.deployer(exitUsage, show...)
	requireTexts(t, complaint, "contradict each other", "--from-hosts=")
	s.deployer(exitOK, append(show, "--from-hosts=n003")...)
	_, complaint = s.deployer(exitRefused, "resume", id, "-i", "prod/hosts.yaml", "--from-hosts=n001", "--playbook", "site.yaml")
	requireTexts(t, complaint, "only the record of these hosts says", "-e content=evil\n")

	newer := bytes.Replace(whole, []byte(`{"format":1}`), []byte(`{"format":9}`), 1)
	records(newer, newer, newer)
	_, complaint = s.deployer(exitUsage, show...)
	requireTexts(t, complaint, "the record has format 9", "there is no run")

	records(nil, nil, nil)
	for _, name := range []string{"..-x", "20990101\x1b[2J", strings.Repeat("9", 100)} {
		s.write(filepath.Join(s.fleet.Hosts[0].Root, agent.DefaultStateDir, "runs", name, "record"), string(whole))
	}
	s.write(s.recordPath(0, "20990101-000000.000"), string(whole)) // another run's name
	listed, complaint := s.deployer(exitOK, "runs", "list", "-i", "prod/hosts.yaml")
	if strings.Contains(listed, "2099") || strings.Contains(listed+complaint, "\x1b") {
		t.Errorf("it is listed: %q, %q", listed, complaint)
	}
	requireTexts(t, complaint, "records of n001", "the header of the record is that of run")
}

// forge returns the record of a run on a host, with a changed header and, when selected is not
// nil, only these events of it.
func (s *testSite) forge(host int, run string, change func(*journal.Header), selected func(*engine.Event) bool) []byte {
	s.t.Helper()
	header, events, _ := s.recordOn(host, run)
	change(header)
	if selected != nil {
		events = slices.DeleteFunc(events, func(e engine.Event) bool { return !selected(&e) })
	}
	return writeRecord(s.t, record.Options{Header: *header}, events)
}

// writeRecord returns a record as a hostile host may write it.
func writeRecord(t *testing.T, o record.Options, events []engine.Event) []byte {
	t.Helper()
	keeper := &forger{}
	o.Keepers = []string{"n001"}
	r, err := record.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Attach(t.Context(), "n001", keeper)
	for _, e := range events {
		r.Emit(e)
	}
	r.Close()
	return keeper.data
}

// forger keeps a record in memory.
type forger struct{ data []byte }

func (f *forger) AppendRecord(_ context.Context, _ string, offset int64, data []byte) (int64, error) {
	if offset == int64(len(f.data)) {
		f.data = append(f.data, data...)
	}
	return int64(len(f.data)), nil
}
func (f *forger) Lost() <-chan struct{} { return nil }

// TestDeadKeepers checks that records are read from the hosts that answer, and that a run
// with dead keepers has a record on the others.
func TestDeadKeepers(t *testing.T) {
	const book = "- hosts: all\n  tasks:\n    - {name: one, file: {path: /one, content: x}}\n"
	s := newTestSite(t, 3, map[string]string{"site.yaml": book})
	s.site.MaxFail = map[string]string{"all": "1"}
	s.writeInventory()
	s.fleet.Hosts[0].Stop()
	s.deployer(exitPartial, "run", "site.yaml")
	id := s.runs()[0].Header.Run
	s.anotherMachine(map[string]string{"site.yaml": book})
	shown, complaint := s.deployer(exitOK, "runs", "show", id)
	requireTexts(t, shown, "partly done", "found: n002, n003")
	requireTexts(t, complaint, "records of n001")
	for _, h := range s.fleet.Hosts[1:] {
		h.Stop()
	}
	_, complaint = s.deployer(exitUsage, "runs", "show", id)
	requireTexts(t, complaint, "none of the hosts that keep them answers", "there is no run")
	_, complaint = s.deployer(exitFailed, "runs", "list", "--from-hosts")
	requireTexts(t, complaint, "none of the hosts that keep them answers")
}
