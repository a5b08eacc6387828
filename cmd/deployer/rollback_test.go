package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/record"
	"deployer/tasks/control/upgrade"
)

// upgraded is a playbook that changes the master as an upgrade does.
const upgraded = `
- hosts: n001
  tasks:
    - {name: before, file: {path: /etc/kubernetes/before.conf, content: "new"}}
    - {name: the manifest, file: {path: /etc/kubernetes/manifests/kube-apiserver.yaml, content: "v1.36.3"}}
    - {name: behind, file: {path: /etc/kubernetes/behind.conf, content: "new"}}
`

// newUpgradedSite returns a site of a master and a minion. The master has the record
// of an upgrade that was killed after it had changed an API server. It returns the id
// of the upgrade.
func newUpgradedSite(t *testing.T) (*testSite, string) {
	t.Helper()
	s := newTestSite(t, 2, map[string]string{"site.yaml": upgraded})
	s.writeHostFile(0, "etc/kubernetes/manifests/kube-apiserver.yaml", "v1.35.4")
	s.deployer(exitOK, "run", "site.yaml")
	id := s.runs()[0].Header.Run
	s.recordUpgrade(id, nil)
	s.makeCluster("v1.35.4")
	return s, id
}

// recordUpgrade changes the records of a run on hosts to that of an upgrade to v1.36.3:
// one with the report, or one that was killed.
func (s *testSite) recordUpgrade(id string, report *engine.Report) {
	s.t.Helper()
	header, _, _ := s.recordOn(0, id)
	header.Invocation = journal.Invocation{Verb: "upgrade", Inventory: header.Invocation.Inventory, Kubernetes: "v1.36.3",
		Extra: map[string]any{"upgrade_drain": upgrade.DrainAuto}}
	keeper := &forger{}
	r, err := record.New(record.Options{Header: *header, Keepers: []string{"n001"}})
	if err != nil {
		s.t.Fatal(err)
	}
	r.Attach(s.t.Context(), "n001", keeper)
	const change = "kube-apiserver of n001: v1.35.4 to v1.36.3"
	r.Emit(engine.Event{Type: engine.EventStepEnd, Host: "n001", Step: "3.play.1", Result: &engine.Result{Host: "n001", Step: "3.play.1", Status: engine.StatusOK,
		Change: &engine.Change{Effects: []engine.Effect{{Kind: engine.EffectShow, Target: upgrade.IrreversibleTarget, Action: change, Diff: change}}}}})
	if report != nil {
		r.Emit(engine.Event{Type: engine.EventRunEnd, Report: report})
	}
	r.Close()
	for host := range s.fleet.Hosts {
		if path := s.recordPath(host, id); exists(path) {
			s.write(path, string(keeper.data))
		}
	}
}

// makeCluster makes the hosts a cluster: the last one is a minion, the others are masters. Hosts
// of a cluster have addresses that others can reach; OpenSSH's configuration leads from them
// to the fleet's.
func (s *testSite) makeCluster(kubernetes string) {
	s.t.Helper()
	doc, config, masters := s.fleet.Document(s.site), "", []string(nil)
	for _, h := range s.fleet.Hosts[:len(s.fleet.Hosts)-1] {
		masters = append(masters, h.Name)
	}
	for i, h := range s.fleet.Hosts {
		address := fmt.Sprintf("10.77.0.%d", i+1)
		config += fmt.Sprintf("Host %s\n  HostName %s\n", address, h.Address)
		doc["hosts"].(map[string]any)[h.Name] = map[string]any{"address": address}
	}
	file := filepath.Join(s.t.TempDir(), "config")
	s.write(file, config)
	doc["ssh"].(map[string]any)["config"] = file
	maps.Copy(doc, map[string]any{"roles": map[string]any{"master": strings.Join(masters, ","), "minion": s.fleet.Hosts[len(masters)].Name}, "cluster": map[string]any{"kubernetes": kubernetes}})
	data, err := yaml.Marshal(doc)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write("inventory.yaml", string(data))
}

func (s *testSite) manifest() string {
	return s.hostFile(0, "etc/kubernetes/manifests/kube-apiserver.yaml")
}

// TestRollbackOnAnotherMachine rolls an upgrade back from a machine with only
// inventory and key. The record of the host is shown and confirmed, and its minor
// version is not lowered without the flag, also where only the host knows the
// progress of the upgrade.
func TestRollbackOnAnotherMachine(t *testing.T) {
	s, id := newUpgradedSite(t)
	s.anotherMachine(nil)
	_, complaint := s.deployer(exitRefused, "rollback", "--yes")
	requireTexts(t, complaint, "reverting run "+id, "found: n001", "--to v1.36.3", "kube-apiserver of n001: v1.36.3 to v1.35.4", "--lower-minor")
	_, complaint = s.deployer(exitRefused, "rollback", id[:len(id)-1], "--lower-minor")
	requireTexts(t, complaint, "confirm with --yes")
	_, complaint = s.deployer(exitUsage, "revert", id, "--yes")
	requireTexts(t, complaint, "was an upgrade", "deployer rollback "+id)
	_, complaint = s.deployer(exitUsage, "revert", id, "--yes", "--original-run", "unknown")
	requireTexts(t, complaint, "deployer rollback "+id)
	if got := s.manifest(); got != "v1.36.3" {
		t.Fatalf("the manifest was changed: %s", got)
	}
	s.deployer(exitOK, "rollback", "--lower-minor", "--yes")
	if got := s.manifest() + s.hostFile(0, "etc/kubernetes/before.conf"); got != "v1.35.4-" {
		t.Errorf("not rolled back: %s", got)
	}
	_, complaint = s.deployer(exitUsage, "rollback", "--from-hosts")
	requireTexts(t, complaint, "no upgrade of inventory.yaml is known that has not been rolled back")
	_, complaint = s.deployer(exitUsage, "revert", s.runs()[0].Header.Run, "--yes")
	requireTexts(t, complaint, "was a rollback", "deployer upgrade")
}

// TestResumeRollbackOnAnotherMachine kills a rollback, and resumes it from the same
// machine, which lacks the log of the upgrade, and from a machine that has neither
// log.
func TestResumeRollbackOnAnotherMachine(t *testing.T) {
	for _, third := range []bool{false, true} {
		s, id := newUpgradedSite(t)
		s.anotherMachine(nil)
		s.kill([]string{"behind", `"status":"changed"`}, "rollback", id, "--lower-minor", "--yes")
		killed := s.runs()[0].Header.Run
		if third {
			s.anotherMachine(nil)
			_, complaint := s.deployer(exitRefused, "resume", "--lock-timeout", "1m")
			requireTexts(t, complaint, "resuming run "+killed, "it reverts run "+id, "--lower-minor", "confirm with --yes")
		}
		s.deployer(exitOK, "resume", "--yes", "--lock-timeout", "1m")
		if got := s.manifest() + s.hostFile(0, "etc/kubernetes/before.conf") + s.hostFile(0, "etc/kubernetes/behind.conf"); got != "v1.35.4--" {
			t.Errorf("third machine %t: not rolled back: %s", third, got)
		}
	}
}

// TestRecordOfRollbackWithoutConsent checks that the record of a host which claims
// that a rollback was interrupted does not lower a version without the consent of the
// user.
func TestRecordOfRollbackWithoutConsent(t *testing.T) {
	s, id := newUpgradedSite(t)
	header, _, _ := s.recordOn(0, id)
	header.Run, header.Invocation = "29990101-000000.000", journal.Invocation{Verb: "revert", Reverts: id, Inventory: header.Invocation.Inventory}
	keeper := &forger{}
	r, err := record.New(record.Options{Header: *header, Keepers: []string{"n001"}})
	if err != nil {
		t.Fatal(err)
	}
	r.Attach(t.Context(), "n001", keeper)
	r.Close()
	path := s.recordPath(0, header.Run)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	s.write(path, string(keeper.data))
	s.anotherMachine(nil)
	out, complaint := s.deployer(exitRefused, "resume", "--yes")
	requireTexts(t, out+complaint, "kube-apiserver of n001: v1.36.3 to v1.35.4")
	if got := s.manifest(); !strings.HasPrefix(got, "v1.36.3") {
		t.Errorf("the manifest was changed: %s", got)
	}
}

// newTwiceUpgradedSite returns a site like that of newUpgradedSite, whose upgrade was given
// again: a first run was killed after one file, a second one has changed the others. It
// returns the ids of both runs.
func newTwiceUpgradedSite(t *testing.T) (s *testSite, first, second string) {
	t.Helper()
	s = newTestSite(t, 2, map[string]string{"site.yaml": upgraded, "begin.yaml": `
- hosts: n001
  tasks:
    - {name: begin, file: {path: /etc/kubernetes/begin.conf, content: "new"}}
`})
	s.writeHostFile(0, "etc/kubernetes/manifests/kube-apiserver.yaml", "v1.35.4")
	s.deployer(exitOK, "run", "begin.yaml")
	first = s.runs()[0].Header.Run
	s.deployer(exitOK, "run", "site.yaml")
	second = s.runs()[0].Header.Run
	s.recordUpgrade(first, nil)
	s.recordUpgrade(second, &engine.Report{Run: second, Hosts: []engine.HostReport{{Host: "n001", Changed: 3}}})
	s.makeCluster("v1.35.4")
	return s, first, second
}

func (s *testSite) upgradedFiles() string {
	return s.manifest() + s.hostFile(0, "etc/kubernetes/begin.conf") + s.hostFile(0, "etc/kubernetes/behind.conf")
}

// TestRollbackOfAnUpgradeGivenAgain checks that an upgrade which was killed and given again,
// not resumed, is taken back with both runs.
func TestRollbackOfAnUpgradeGivenAgain(t *testing.T) {
	s, first, second := newTwiceUpgradedSite(t)
	s.anotherMachine(nil)
	out, _ := s.deployer(exitOK, "rollback", "--lower-minor", "--yes")
	requireTexts(t, out, "the upgrade has 2 runs", second+", "+first)
	if got := s.upgradedFiles(); got != "v1.35.4--" {
		t.Errorf("not rolled back: %s", got)
	}
	_, complaint := s.deployer(exitUsage, "rollback", "--from-hosts")
	requireTexts(t, complaint, "no upgrade of inventory.yaml is known that has not been rolled back")
}

// TestResumeRollbackOfAnUpgradeGivenAgain kills the rollback of an upgrade with two runs in
// the first of them. A resume, on this or another machine, takes both back.
func TestResumeRollbackOfAnUpgradeGivenAgain(t *testing.T) {
	for _, third := range []bool{false, true} {
		s, _, second := newTwiceUpgradedSite(t)
		s.anotherMachine(nil)
		s.kill([]string{"behind", `"status":"changed"`}, "rollback", second, "--lower-minor", "--yes")
		if third {
			s.anotherMachine(nil)
		}
		s.deployer(exitOK, "resume", "--yes", "--lock-timeout", "1m")
		if got := s.upgradedFiles(); got != "v1.35.4--" {
			t.Errorf("third machine %t: not rolled back: %s", third, got)
		}
	}
}

// TestRollbackWithoutADeadMaster rolls an upgrade back while a master is down, which
// the upgrade has changed: the others are restored, the exit code and the text report
// the rest, and the same command restores the master when it answers again.
func TestRollbackWithoutADeadMaster(t *testing.T) {
	s := newTestSite(t, 4, map[string]string{"site.yaml": strings.Replace(upgraded, "hosts: n001", "hosts: all", 1)})
	for i := range 4 {
		s.writeHostFile(i, "etc/kubernetes/manifests/kube-apiserver.yaml", "v1.35.4")
	}
	s.deployer(exitOK, "run", "site.yaml")
	id := s.runs()[0].Header.Run
	s.recordUpgrade(id, nil)
	s.makeCluster("v1.35.4")
	s.anotherMachine(nil)
	files := func() (out string) {
		for i := range 4 {
			out += s.hostFile(i, "etc/kubernetes/manifests/kube-apiserver.yaml") + " "
		}
		return out
	}

	s.fleet.Hosts[2].Stop()
	out, _ := s.deployer(exitPartial, "rollback", "--lower-minor", "--yes")
	requireTexts(t, out, "n003: all changes of the run on the host, which is unreachable", "when it answers again: deployer rollback "+id)
	if got := files(); got != "v1.35.4 v1.35.4 v1.36.3 v1.35.4 " {
		t.Fatalf("with a dead master: %s", got)
	}
	if err := s.fleet.Hosts[2].Start(); err != nil {
		t.Fatal(err)
	}
	s.deployer(exitOK, "rollback", "--lower-minor", "--yes")
	if got := files(); got != "v1.35.4 v1.35.4 v1.35.4 v1.35.4 " {
		t.Errorf("the master is back: %s", got)
	}
}
