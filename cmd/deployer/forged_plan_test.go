package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/plan"
	"deployer/engine/record"
)

// planSite has two playbooks: the one of the user, and one that a hostile host would like to
// run. Files and variables of both have names that tell which one ran.
func planSite(t *testing.T) (*testSite, map[string]string) {
	t.Helper()
	files := map[string]string{
		"site.yaml":      "- hosts: all\n  tasks:\n    - {name: wanted, file: {path: /wanted, content: \"{{ content | default('good') }}\"}}\n    - {name: wipe, file: {path: /wiped, content: x}, tags: [never, wipe]}\n",
		"lib/other.yaml": "- hosts: all\n  tasks:\n    - {name: other, file: {path: /unwanted, content: \"{{ key }}\"}}\n",
	}
	return newTestSite(t, 3, files), files
}

// plan writes the plan of a command and returns its bytes, changed by edits.
func (s *testSite) plan(edit func(*plan.Plan), args ...string) []byte {
	s.t.Helper()
	s.deployer(exitOK, append([]string{"plan", "run", "-o", "made.json"}, args...)...)
	data, err := os.ReadFile("made.json")
	if err != nil {
		s.t.Fatal(err)
	}
	if edit == nil {
		return data
	}
	var p plan.Plan
	if err := json.Unmarshal(data, &p); err != nil {
		s.t.Fatal(err)
	}
	edit(&p)
	if data, err = json.Marshal(p); err != nil {
		s.t.Fatal(err)
	}
	return data
}

// forgePlan returns the record of a run that has begun to apply a plan, as a hostile host
// would write it.
func forgePlan(t *testing.T, h journal.Header, content []byte) string {
	t.Helper()
	sum := sha256.Sum256(content)
	h.Plan = &journal.Plan{File: "/dev/zero", SHA256: hex.EncodeToString(sum[:])}
	return string(writeRecord(t, record.Options{Header: h, Plan: content}, nil))
}

const forgedRun = "20991231-000000.000"

// TestForgedPlans checks that a plan in the record of a hostile host runs only what its header
// claims, and nothing before a person has seen and confirmed it.
func TestForgedPlans(t *testing.T) {
	for name, c := range map[string]struct {
		planned []string         // arguments of the plan
		edit    func(*plan.Plan) // of the plan
		header  func(*journal.Header)
		said    []string
		resume  []string
	}{
		"another playbook below an install": {planned: []string{"lib/other.yaml", "-e", "key=evil"},
			header: func(h *journal.Header) { h.Invocation.Verb, h.Invocation.Playbook = "install", "" },
			said:   []string{"is not one of that run", `verb: want "install", the record has "run"`}},
		"another playbook": {planned: []string{"lib/other.yaml", "-e", "key=evil"}, resume: []string{"--playbook", "site.yaml"},
			said: []string{"is not one of that run", `variable "key": want none, the record has "evil"`}},
		"other variables": {planned: []string{"site.yaml", "-e", "content=evil"}, resume: []string{"--playbook", "site.yaml"},
			said: []string{"is not one of that run", `variable "content": want none, the record has "evil"`}},
		"other tags": {planned: []string{"site.yaml", "--tags", "wipe"}, resume: []string{"--playbook", "site.yaml"},
			said: []string{"is not one of that run", `tags: want none, the record has ["wipe"]`}},
		"claimed variables": {planned: []string{"site.yaml", "-e", "content=evil"}, resume: []string{"--playbook", "site.yaml"},
			header: func(h *journal.Header) { h.Invocation.Extra = map[string]any{"content": "evil"} },
			said:   []string{"only the record of these hosts says", "-e content=evil", "confirm with --yes"}},
		"the wanted plan": {planned: []string{"site.yaml"}, resume: []string{"--playbook", "site.yaml"},
			said: []string{"nothing was changed: standard input is not a terminal; confirm with --yes"}},
		"a wrong fingerprint": {planned: []string{"site.yaml"}, resume: []string{"--playbook", "site.yaml"},
			edit: func(p *plan.Plan) { p.Changes[0].Effects[0].Target = "/harmless" },
			said: []string{"is damaged", "fingerprint"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, files := planSite(t)
			s.deployer(exitOK, "run", "site.yaml", "--limit", "n002,n003", "-e", "content=before")
			header, _, _ := s.recordOn(1, s.runs()[0].Header.Run)
			header.Run, header.Invocation.Extra, header.Invocation.Limit = forgedRun, nil, ""
			if c.header != nil {
				c.header(header)
			}
			forged := forgePlan(t, *header, s.plan(c.edit, c.planned...))
			s.anotherMachine(map[string]string{"site.yaml": files["site.yaml"]})
			s.write(s.recordPath(0, forgedRun), forged)
			out, complaint := s.refused(append([]string{"resume", forgedRun, "-i", "prod/hosts.yaml"}, c.resume...)...)
			requireTexts(t, complaint, c.said...)
			if strings.Contains(out+complaint, "/dev/zero") {
				t.Error("a path of the record was used")
			}
			for host := range 3 {
				if got, want := s.hostFile(host, "wanted"), []string{"-", "before", "before"}[host]; got != want {
					t.Errorf("host %d: /wanted is %q", host, got)
				}
				if got := s.hostFile(host, "unwanted") + s.hostFile(host, "wiped"); got != "--" {
					t.Errorf("host %d: other files %q", host, got)
				}
			}
		})
	}
}

// refused runs a command line that must change nothing: exit code 2 or 4.
func (s *testSite) refused(args ...string) (stdout, stderr string) {
	s.t.Helper()
	var out, complaints strings.Builder
	if got := run(s.t.Context(), args, strings.NewReader(""), &out, &complaints); got != exitRefused && got != exitUsage {
		s.t.Fatalf("deployer %s: exit code %d\n%s%s", strings.Join(args, " "), got, out.String(), complaints.String())
	}
	return out.String(), complaints.String()
}

// TestPlanOfAHostIsShown checks that the plan of a host's record is shown before it is
// executed, without control characters, and that it allows no more than it shows, whatever it
// says about steps that are not exact.
func TestPlanOfAHostIsShown(t *testing.T) {
	s, files := planSite(t)
	s.deployer(exitOK, "run", "site.yaml", "--limit", "n003")
	header, _, _ := s.recordOn(2, s.runs()[0].Header.Run)
	header.Run, header.Invocation.Limit = forgedRun, ""
	first := 0
	loose := s.plan(func(p *plan.Plan) {
		p.Changes[0].Name = "wanted\n  nothing at all\x1b[2J"
		for i := range p.Hosts {
			p.Hosts[i].UnboundedFrom, p.Hosts[i].Inexact = &first, map[int]int{0: 0}
		}
	}, "site.yaml", "--limit", "n001,n002")
	forged := forgePlan(t, *header, loose)
	s.anotherMachine(map[string]string{"site.yaml": files["site.yaml"]})
	s.write(s.recordPath(0, forgedRun), forged)
	resume := []string{"resume", forgedRun, "-i", "prod/hosts.yaml", "--playbook", "site.yaml"}

	out, complaint := s.deployer(exitRefused, resume...)
	requireTexts(t, out, "plan of site.yaml for 2 hosts", "wanted   nothing at all", "file /wanted: create", "2 of 2 hosts would change: 2 files")
	requireTexts(t, complaint, "resuming run "+forgedRun, "confirm with --yes")
	if strings.Contains(out, "\x1b") {
		t.Errorf("control characters: %q", out)
	}
	// A host has changed, so that the step would do something that the plan does not show.
	s.writeHostFile(0, "wanted", "of somebody else")
	_, complaint = s.deployer(exitRefused, append(resume, "--yes")...)
	requireTexts(t, complaint, "files or hosts differ from the plan", "n001", "replace /wanted", "the plan does not have that")
	if err := os.Remove(s.fleet.Hosts[0].Root + "/wanted"); err != nil {
		t.Fatal(err)
	}
	out, _ = s.deployer(exitOK, append(resume, "--yes")...)
	requireTexts(t, out, "site.yaml done", "2 hosts, 2 changed")
	last := s.runs()[0].Header
	if last.Resumes != forgedRun || last.Plan == nil || !exists(last.Plan.File) {
		t.Errorf("the run that resumed the plan: %+v", last)
	}
}

// TestClaimedSelections checks that hosts cannot select a tag that only runs when it is asked
// for, nor other hosts than those that failed within the limit.
func TestClaimedSelections(t *testing.T) {
	s, files := planSite(t)
	s.deployer(exitOK, "run", "site.yaml", "--limit", "n002")
	id := s.runs()[0].Header.Run
	killed := func(e *engine.Event) bool { return e.Type != engine.EventRunEnd }
	tags := s.forge(1, id, func(h *journal.Header) {
		h.Run, h.Invocation.Limit, h.Invocation.Tags = forgedRun, "", []string{"wipe"}
	}, killed)
	s.anotherMachine(map[string]string{"site.yaml": files["site.yaml"]})
	s.write(s.recordPath(0, forgedRun), string(tags))
	_, complaint := s.deployer(exitRefused, "resume", forgedRun, "--playbook", "site.yaml")
	requireTexts(t, complaint, "only the record of these hosts says", "--tags wipe", "confirm with --yes")

	for failed, want := range map[string]string{"all": `"all"`, "n00*": `"n00*"`, "n003": "also matches n003", "n002,n001": "also matches n001"} {
		partial := s.forge(1, id, func(h *journal.Header) { h.Run = forgedRun }, func(e *engine.Event) bool {
			if e.Type == engine.EventRunEnd {
				e.Report.Hosts = append(e.Report.Hosts, engine.HostReport{Host: failed, Failure: &engine.Failure{Message: "no"}})
			}
			return true
		})
		s.write(s.recordPath(0, forgedRun), string(partial))
		_, complaint = s.deployer(exitUsage, "resume", forgedRun, "--playbook", "site.yaml", "--yes")
		requireTexts(t, complaint, "names", want)
	}
	for host := range 3 {
		if got := s.hostFile(host, "wiped"); got != "-" {
			t.Errorf("host %d: %q", host, got)
		}
	}
	if got := s.hostFile(0, "wanted") + s.hostFile(2, "wanted"); got != "--" {
		t.Errorf("other hosts have %q", got)
	}
}

// TestRevertsThatRevertThemselves checks that records which name each other end in an error.
func TestRevertsThatRevertThemselves(t *testing.T) {
	s, files := planSite(t)
	s.deployer(exitOK, "run", "site.yaml")
	id := s.runs()[0].Header.Run
	names := []string{"20991231-000000.000", "20991231-000000.001"}
	var loops [][]byte
	for i, name := range names {
		loops = append(loops, s.forge(0, id, func(h *journal.Header) {
			h.Run, h.Invocation = name, journal.Invocation{Verb: "revert", Inventory: h.Invocation.Inventory, Reverts: names[1-i]}
		}, nil))
	}
	s.anotherMachine(map[string]string{"site.yaml": files["site.yaml"]})
	for i, name := range names {
		s.write(s.recordPath(0, name), string(loops[i]))
	}
	_, complaint := s.deployer(exitUsage, "revert", names[0], "--yes")
	requireTexts(t, complaint, "reverts itself", "n001")
}

// TestPlanIsResumedFromTheRecord checks that a machine that has lost the file of a plan, but
// not its log, takes the copy of a host whose digest is that of the log, without a question.
func TestPlanIsResumedFromTheRecord(t *testing.T) {
	book := strings.ReplaceAll(thirty(), "{{ release }}", "7")
	s := newTestSiteWith(t, 3, slowHosts, map[string]string{"site.yaml": book})
	s.deployer(exitOK, "plan", "run", "site.yaml", "-o", "plan.json")
	s.kill([]string{`"name":"step 12"`, "step.end", `"changed"`}, "apply", "plan.json")
	if err := os.Remove("plan.json"); err != nil {
		t.Fatal(err)
	}
	_, complaint := s.deployer(exitOK, "resume", "--lock-timeout", "1m")
	if strings.Contains(complaint, "only the record") {
		t.Error(complaint)
	}
	if got := s.hostFile(2, "b29"); got != "7" {
		t.Errorf("the last step has left %q", got)
	}
	if last := s.runs()[0].Header; !exists(last.Plan.File) {
		t.Errorf("the plan of the second run is at %s", last.Plan.File)
	}
}

// TestHostsDoNotChooseLocks checks that the record of a host cannot make a continued rollback
// lock less, and that the user of another machine still can.
func TestHostsDoNotChooseLocks(t *testing.T) {
	for flag, want := range map[string]bool{"cluster": false, "hosts": true} {
		s, first, second := newTwiceUpgradedSite(t)
		s.recordUpgrade(first, &engine.Report{Run: first, Hosts: []engine.HostReport{{Host: "n001", Changed: 1}, {Host: "n002", Failure: &engine.Failure{Message: "no"}}}})
		header, _, _ := s.recordOn(0, second)
		header.Run = forgedRun
		header.Invocation = journal.Invocation{Verb: "revert", Reverts: second, Inventory: header.Invocation.Inventory, LockHosts: true, LowerMinor: true}
		done := engine.Event{Type: engine.EventRunEnd, Report: &engine.Report{Run: forgedRun, Hosts: []engine.HostReport{{Host: "n001"}}}}
		forged := writeRecord(t, record.Options{Header: *header}, []engine.Event{done})
		s.anotherMachine(nil)
		s.write(s.recordPath(0, forgedRun), string(forged))
		s.deployer(exitOK, "resume", "--yes", "--lock", flag)
		if got := s.runs()[0].Header.Invocation; got.Verb != "revert" || got.LockHosts != want {
			t.Errorf("--lock %s: the rollback that continues is %+v", flag, got)
		}
	}
}
