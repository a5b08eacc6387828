package main

import (
	"slices"
	"testing"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/record"
	"deployer/project"
	"deployer/tasks/control/upgrade"
)

// newSiteUpgradedByCI returns the site of newTwiceUpgradedSite, whose runs were started as CI
// starts upgrades, and have not raised a minor version.
func newSiteUpgradedByCI(t *testing.T) (s *testSite, first, second string) {
	t.Helper()
	s, first, second = newTwiceUpgradedSite(t)
	vars, err := upgradeVars()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{first, second} {
		s.rewriteRecord(id, func(h *journal.Header) { h.Invocation.Kubernetes, h.Invocation.Extra = "", vars })
	}
	s.makeCluster("v1.36.3")
	versions := s.versions()
	for _, id := range []string{first, second} {
		s.rewriteRecord(id, func(h *journal.Header) { h.Versions = versions })
	}
	return s, first, second
}

// versions returns the versions of the inventory's cluster.
func (s *testSite) versions() map[string]string {
	s.t.Helper()
	p, err := project.LoadCluster("inventory.yaml", project.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	return project.ClusterVersions(p.Cluster)
}

// TestRollbackOfCICompletedByAPerson: CI has written down which upgrade it rolls back, and a person
// has rolled it back. CI's next one finds nothing left of it, and the upgrade before it
// stays.
func TestRollbackOfCICompletedByAPerson(t *testing.T) {
	s, before, last := newSiteUpgradedByCI(t)
	header, _, _ := s.recordOn(0, before)
	vars := header.Invocation.Extra
	s.recordUpgrade(before, &engine.Report{Run: before, Hosts: []engine.HostReport{{Host: "n001", Changed: 1}}})
	s.rewriteRecord(before, func(h *journal.Header) {
		h.Invocation.Kubernetes, h.Invocation.Extra, h.Versions = "", vars, map[string]string{"kube-apiserver": "v1.36.2"}
	})
	s.anotherMachine(nil)
	out, _ := s.deployer(exitOK, "rollback", "--print-upgrade")
	if out != last+"\n" {
		t.Fatalf("the upgrade of the inventory is %q, want %s", out, last)
	}
	words := []string{"--yes", "--lock-timeout", "1m", "--step=rollback", "--step=" + last, "--step=--yes"}
	s.deployer(exitOK, "rollback", "--yes") // a person
	const completed = "v1.35.4new-"
	if got := s.upgradedFiles(); got != completed {
		t.Fatalf("after the person's rollback: %s", got)
	}
	for verb, code := range map[string]int{"resume": exitUsage, "rollback": exitOK} {
		s.anotherMachine(nil)
		args := append([]string{verb}, words...)
		if verb == "rollback" {
			args = append(args, last)
		}
		out, complaint := s.deployer(code, args...)
		if got := s.upgradedFiles(); got != completed {
			t.Fatalf("%s took back the upgrade before: %s\n%s%s", verb, got, out, complaint)
		}
	}
	out, _ = s.deployer(exitOK, "rollback", "--print-upgrade")
	if out != last+"\n" {
		t.Errorf("the upgrade that was rolled back is %q, want %s", out, last)
	}
	_, complaint := s.deployer(exitRefused, "rollback", before, "--yes", "--step=rollback", "--step="+last, "--step=--yes")
	requireTexts(t, complaint, "nothing was changed: the step deployer rollback "+last+" --yes does not revert run "+before)
	s.makeCluster("v1.35.4")
	_, complaint = s.deployer(exitUsage, "rollback", "--print-upgrade")
	requireTexts(t, complaint, "the newest upgrade that has not been rolled back, run "+before+", has other versions than inventory.yaml (", "deployer rollback "+before)
}

// rewriteRecord changes the header of a run in the records of all hosts that have one.
func (s *testSite) rewriteRecord(id string, edit func(*journal.Header)) {
	s.t.Helper()
	lowered := func(e engine.Effect) bool { return e.Target == upgrade.IrreversibleTarget }
	data := s.forge(0, id, edit, func(e *engine.Event) bool {
		return e.Result == nil || e.Result.Change == nil || !slices.ContainsFunc(e.Result.Change.Effects, lowered)
	})
	for host := range s.fleet.Hosts {
		if path := s.recordPath(host, id); exists(path) {
			s.write(path, string(data))
		}
	}
}

// TestRollbackOfCI: CI takes back, from the records of hosts, upgrades as it starts them, and
// resumes this rollback on another machine, before and between its runs.
func TestRollbackOfCI(t *testing.T) {
	words := []string{"--yes", "--lock-timeout", "1m", "--step=rollback", "--step=--yes"}
	for name, stop := range map[string][]string{
		"at once":             nil,
		"within its first":    {"behind", `"status":"changed"`},
		"after its first run": {"begin", `"status":"changed"`},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, _ := newSiteUpgradedByCI(t)
			s.anotherMachine(nil)
			verb := "rollback"
			if stop != nil {
				s.kill(stop, append([]string{verb}, words...)...)
				s.anotherMachine(nil)
				verb = "resume"
			}
			s.deployer(exitOK, append([]string{verb}, words...)...)
			if got := s.upgradedFiles(); got != "v1.35.4--" {
				t.Errorf("not rolled back: %s", got)
			}
		})
	}
}

// TestRollbackOfCIWithForgedUpgrades checks that --yes of CI confirms nothing that only the
// record of an upgrade, or of its rollback, on a host says.
func TestRollbackOfCIWithForgedUpgrades(t *testing.T) {
	set := func(name string, value any) func(*journal.Header) {
		return func(h *journal.Header) { h.Invocation.Extra[name] = value }
	}
	for name, c := range map[string]struct {
		edit func(*journal.Header) // of both upgrades
		want string
	}{
		"a variable":              {set("etcd_data_dir", "/evil"), "-e etcd_data_dir=/evil"},
		"another value of a flag": {set("upgrade_drain", upgrade.DrainNever), "-e upgrade_drain=never"},
		"another version":         {func(h *journal.Header) { h.Invocation.Kubernetes = "v1.36.2" }, "--to v1.36.2"},
	} {
		t.Run(name, func(t *testing.T) {
			s, first, second := newSiteUpgradedByCI(t)
			for _, id := range []string{first, second} {
				s.rewriteRecord(id, c.edit)
			}
			s.anotherMachine(nil)
			_, complaint := s.deployer(exitRefused, "rollback", "--yes", "--step=rollback", "--step=--yes")
			requireTexts(t, complaint, "nothing was changed: the record of upgrade "+second+" on n001 ", c.want, "run: deployer rollback "+second+" -i inventory.yaml --from-hosts")
			if got := s.upgradedFiles(); got != "v1.36.3newnew" {
				t.Fatalf("changed: %s", got)
			}
			s.deployer(exitOK, "rollback", "--yes") // a person confirms
		})
	}
	t.Run("resumed", func(t *testing.T) {
		s, first, _ := newSiteUpgradedByCI(t)
		s.anotherMachine(nil)
		words := []string{"--yes", "--lock-timeout", "1m", "--step=rollback", "--step=--yes"}
		s.kill([]string{"behind", `"status":"changed"`}, append([]string{"rollback"}, words...)...)
		back := s.runs()[0].Header.Run
		s.rewriteRecord(first, set("etcd_data_dir", "/evil"))
		s.anotherMachine(nil)
		_, complaint := s.deployer(exitRefused, append([]string{"resume"}, words...)...)
		requireTexts(t, complaint, "the record of upgrade "+first+" on n001 ", "-e etcd_data_dir=/evil", "run: deployer resume -i inventory.yaml --from-hosts")

		// The record of the rollback itself has a flag, too.
		data := s.forge(0, back, func(h *journal.Header) { h.Invocation.Force = true }, nil)
		s.write(s.recordPath(0, back), string(data))
		_, complaint = s.deployer(exitRefused, append([]string{"resume"}, words...)...)
		requireTexts(t, complaint, "--force: want false, the record has true; found: n001", "run: deployer resume -i inventory.yaml --from-hosts")
	})
	t.Run("between two runs", func(t *testing.T) {
		s, first, second := newSiteUpgradedByCI(t)
		header, _, _ := s.recordOn(0, second)
		known := header.Invocation.Extra
		s.recordUpgrade(first, &engine.Report{Run: first, Hosts: []engine.HostReport{{Host: "n001", Changed: 1}, {Host: "n002", Failure: &engine.Failure{Message: "no"}}}})
		s.rewriteRecord(first, func(h *journal.Header) { h.Invocation.Kubernetes, h.Invocation.Extra = "", known })
		header.Run = forgedRun
		done := engine.Event{Type: engine.EventRunEnd, Report: &engine.Report{Run: forgedRun, Hosts: []engine.HostReport{{Host: "n001"}}}}
		s.anotherMachine(nil)
		resume := func(code int, lowerMinor bool) string {
			header.Invocation = journal.Invocation{Verb: "revert", Reverts: second, Inventory: "/lost/inventory.yaml", Extra: known, LowerMinor: lowerMinor}
			s.write(s.recordPath(0, forgedRun), string(writeRecord(t, record.Options{Header: *header}, []engine.Event{done})))
			_, complaint := s.deployer(code, "resume", "--yes", "--step=rollback", "--step=--yes")
			return complaint
		}
		requireTexts(t, resume(exitRefused, true), "the record of run "+forgedRun, "--lower-minor: want false, the record has true")
		resume(exitOK, false)
		if got := s.hostFile(0, "etc/kubernetes/begin.conf"); got != "-" {
			t.Errorf("the older run is not rolled back: %s", got)
		}
	})
}
