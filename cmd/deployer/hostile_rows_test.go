package main

import (
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/record"
)

// rowBreak is a text of a hostile host that would begin a row of its own, with the id of a run
// that does not exist.
const rowBreak = "x\n20201231-000000.000  install  -  done\u2028\r\n20201231-000000.000\tALL DONE\x1b[2J"

// TestHostsPrintNoRows checks over the wire that the texts of a hostile host's record begin no
// line in any output.
func TestHostsPrintNoRows(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{"site.yaml": "- hosts: all\n  tasks:\n    - {name: one, file: {path: /one, content: x}}\n"})
	s.deployer(exitOK, "run", "site.yaml")
	header, _, _ := s.recordOn(0, s.runs()[0].Header.Run)
	header.Run, header.By, header.Deployer, header.Resumes = forgedRun, rowBreak, rowBreak, rowBreak
	header.Invocation = journal.Invocation{Verb: rowBreak, Playbook: "/" + rowBreak, Inventory: rowBreak, Limit: rowBreak, Tags: []string{rowBreak}, StartAt: rowBreak,
		Extra: map[string]any{rowBreak: rowBreak}, Withheld: []string{rowBreak}, Kubernetes: rowBreak, Joining: []string{rowBreak}}
	header.Files, header.Versions = map[string]string{rowBreak: rowBreak}, map[string]string{rowBreak: rowBreak}
	failure := &engine.Failure{Message: rowBreak, Detail: "see below\n" + rowBreak}
	effects := []engine.Effect{{Kind: engine.EffectRestart, Target: rowBreak, Action: rowBreak}, {Kind: engine.EffectKind(rowBreak), Target: rowBreak, Action: rowBreak}}
	events := []engine.Event{
		{Type: engine.EventRunStart, Name: rowBreak, Text: rowBreak},
		{Type: engine.EventPlayStart, Name: rowBreak, Text: rowBreak},
		{Type: engine.EventWarning, Host: rowBreak, Text: rowBreak},
		{Type: engine.EventHostUp, Host: rowBreak, Text: rowBreak},
		{Type: engine.EventStepStart, Host: "n001", Step: rowBreak, Name: rowBreak, Role: rowBreak},
		{Type: engine.EventStepStart, Host: "n002", Step: "open" + rowBreak, Name: rowBreak, Role: rowBreak},
		{Type: engine.EventStepEnd, Host: "n001", Step: rowBreak, Name: rowBreak, Role: rowBreak, Result: &engine.Result{Status: engine.StatusChanged, Delegate: rowBreak,
			Reason: rowBreak, Unknown: rowBreak, Change: &engine.Change{Needed: true, Effects: effects, MissingDir: rowBreak}}},
		{Type: engine.EventStepEnd, Host: rowBreak, Step: "2", Name: rowBreak, Result: &engine.Result{Status: engine.StatusFailed, Failure: failure}},
		{Type: engine.EventHostParked, Host: rowBreak, Text: rowBreak},
	}
	end := engine.Event{Type: engine.EventRunEnd, Report: &engine.Report{Run: rowBreak, Aborted: rowBreak, LeftOpen: []string{rowBreak}, Paused: []string{rowBreak},
		Hosts: []engine.HostReport{{Host: "n001", Changed: 1}, {Host: rowBreak, Failed: 1, Failure: failure, FailedStep: rowBreak}}}}
	killed := writeRecord(t, record.Options{Header: *header}, events)
	ended := writeRecord(t, record.Options{Header: *header}, append(events, end))
	s.anotherMachine(map[string]string{"site.yaml": "- hosts: all\n  tasks: []\n"})
	for _, forged := range [][]byte{killed, ended} {
		s.write(s.recordPath(0, forgedRun), string(forged))
		for _, command := range []string{
			"runs list --from-hosts", "runs show --from-hosts " + forgedRun, "runs show --from-hosts -v " + forgedRun, "runs show --from-hosts -o svg " + forgedRun,
			"runs show --from-hosts --html=- " + forgedRun, "resume " + forgedRun, "resume --playbook site.yaml " + forgedRun, "revert --yes " + forgedRun,
			"rollback --yes " + forgedRun, "plan run site.yaml",
		} {
			var out, complaints strings.Builder
			run(t.Context(), append(strings.Fields(command), "-i", "prod/hosts.yaml"), strings.NewReader(""), &out, &complaints)
			for line := range strings.FieldsFuncSeq(out.String()+"\n"+complaints.String(), func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' }) {
				// Details of failures have lines, which are indented; in a page they are in a box.
				row := strings.HasPrefix(line, "20201231") && !strings.Contains(command, "--html")
				if column := strings.TrimLeft(line, " |"); row || strings.Contains(line, "\x1b") || column == line && strings.Contains(line, "\t") && !strings.Contains(command, "--html") {
					t.Errorf("deployer %s: %q", command, line)
				}
			}
			if strings.HasPrefix(command, "runs") && !strings.Contains(out.String(), forgedRun) {
				t.Errorf("deployer %s does not show the run: %s%s", command, out.String(), complaints.String())
			}
		}
	}
}
