package runs

import (
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/runs/history"
)

// upgradeEntry returns an upgrade of the inventory /i to a version. Its outcome is:
// "done" or "failed" after a change, "idle" or "refused" without one, "killed" after a
// change, "cut" for a killed one whose log shows none.
func upgradeEntry(run, to, how string) *history.Entry {
	r := &journal.Record{Header: journal.Header{Run: run, Versions: map[string]string{"kubelet": to}, Invocation: journal.Invocation{Verb: journal.VerbUpgrade, Inventory: "/i"}}}
	changed, failed := engine.HostReport{Host: "m1", Changed: 3}, engine.HostReport{Host: "m1", Failure: &engine.Failure{Message: "no"}}
	switch how {
	case "done":
		r.Report = &engine.Report{Hosts: []engine.HostReport{changed}}
	case "failed":
		r.Report = &engine.Report{Hosts: []engine.HostReport{changed, failed}, Aborted: "too many hosts failed"}
	case "idle":
		r.Report = &engine.Report{Hosts: []engine.HostReport{{Host: "m1", OK: 7}}}
	case "refused", "failed change":
		r.Report = &engine.Report{Hosts: []engine.HostReport{failed}, Aborted: "checks failed"}
	case "killed":
		r.Results = map[engine.Status]int{engine.StatusChanged: 2}
	}
	r.Outcome = journal.Killed
	if r.Report != nil {
		r.Outcome = r.Report.Outcome()
	}
	if how == "failed change" {
		r.FailedChanges = 1
	}
	return &history.Entry{Here: true, Record: r}
}

func revertEntry(run, reverts string, outcome engine.Outcome) *history.Entry {
	return &history.Entry{Here: true, Record: &journal.Record{Outcome: outcome, Header: journal.Header{Run: run, Invocation: journal.Invocation{Verb: journal.VerbRevert, Inventory: "/i", Reverts: reverts}}}}
}

func resuming(r *history.Entry, run string) *history.Entry {
	r.Header.Resumes = run
	return r
}

// TestUpgradeChain checks which runs a rollback takes back.
func TestUpgradeChain(t *testing.T) {
	up := upgradeEntry
	install := up("3", "v2", "done")
	install.Header.Invocation.Verb = journal.VerbInstall
	elsewhere := up("9", "v2", "done")
	elsewhere.Header.Invocation.Inventory = "/other"
	there, thereReverted := up("5", "v3", "done"), revertEntry("6", "5", engine.OutcomeDone)
	for _, e := range []*history.Entry{there, thereReverted} {
		e.Here, e.Header.Invocation.Inventory, e.Keepers = false, "/home/ann/i", []string{"m1"}
	}
	for name, c := range map[string]struct {
		all  []*history.Entry // newest first
		from string
		want string
	}{
		"no upgrade":                                    {[]*history.Entry{install, elsewhere}, "", ""},
		"the newest upgrade":                            {[]*history.Entry{install, up("2", "v2", "done"), up("1", "v1", "done")}, "", "2"},
		"upgrade of another machine":                    {[]*history.Entry{there, up("1", "v2", "done")}, "", "5"},
		"upgrade that another machine has reverted":     {[]*history.Entry{thereReverted, there, up("1", "v2", "done")}, "", "1"},
		"it is reverted":                                {[]*history.Entry{revertEntry("3", "2", engine.OutcomeDone), up("2", "v2", "done"), up("1", "v1", "done")}, "", "1"},
		"its rollback was killed":                       {[]*history.Entry{revertEntry("3", "2", journal.Killed), up("2", "v2", "done")}, "", "2"},
		"its rollback missed a host":                    {[]*history.Entry{revertEntry("3", "2", engine.OutcomePartial), up("2", "v2", "done")}, "", "2"},
		"it changed nothing":                            {[]*history.Entry{up("4", "v3", "idle"), up("2", "v2", "done")}, "", "2"},
		"killed, and given again":                       {[]*history.Entry{up("3", "v2", "done"), up("2", "v2", "killed"), up("1", "v1", "done")}, "", "3 2"},
		"killed, resumed, failed, and given again":      {[]*history.Entry{up("4", "v2", "done"), resuming(up("3", "v2", "failed"), "2"), up("2", "v2", "killed"), up("1", "v1", "done")}, "", "4 3 2"},
		"given again after an install":                  {[]*history.Entry{up("4", "v2", "done"), install, up("2", "v2", "killed")}, "", "4 2"},
		"a refused one to other versions":               {[]*history.Entry{up("4", "v3", "refused"), up("2", "v2", "failed"), up("1", "v1", "done")}, "", "2"},
		"a refused retry":                               {[]*history.Entry{up("4", "v2", "refused"), up("2", "v2", "failed")}, "", "2"},
		"a refused retry between two parts":             {[]*history.Entry{up("4", "v2", "done"), up("3", "v2", "refused"), up("2", "v2", "killed")}, "", "4 2"},
		"the first change failed":                       {[]*history.Entry{up("4", "v3", "failed change"), up("2", "v2", "done")}, "", "4"},
		"killed in its checks, to other versions":       {[]*history.Entry{up("4", "v3", "cut"), up("2", "v2", "done")}, "", "2"},
		"killed in its checks, to the same versions":    {[]*history.Entry{up("4", "v2", "cut"), up("2", "v2", "done")}, "", "4 2"},
		"killed in its checks, between others":          {[]*history.Entry{up("4", "v2", "done"), up("3", "v3", "cut"), up("2", "v2", "killed")}, "", "4 2"},
		"killed in its checks, and no other":            {[]*history.Entry{up("4", "v3", "cut")}, "", "4"},
		"resumed with other versions":                   {[]*history.Entry{resuming(up("4", "v3", "done"), "2"), up("2", "v2", "killed"), up("1", "v1", "done")}, "", "4 2"},
		"the log of the resumed run is missing":         {[]*history.Entry{resuming(up("4", "v3", "done"), "2"), up("1", "v3", "killed")}, "", "4 1 2"},
		"one part is reverted":                          {[]*history.Entry{revertEntry("5", "3", engine.OutcomeDone), up("3", "v2", "done"), up("2", "v2", "killed")}, "", "2"},
		"back to the versions of an upgrade before":     {[]*history.Entry{up("3", "v2", "done"), up("2", "v1", "done"), up("1", "v2", "done")}, "", "3"},
		"another policy after a completed upgrade":      {[]*history.Entry{up("4", "v2", "done"), up("3", "v2", "done"), up("2", "v2", "failed")}, "", "4"},
		"the completed upgrade before another policy":   {[]*history.Entry{up("4", "v2", "done"), up("3", "v2", "done"), up("2", "v2", "failed")}, "3", "3 2"},
		"killed after a completed upgrade":              {[]*history.Entry{up("5", "v2", "killed"), up("4", "v2", "killed"), up("3", "v2", "done")}, "", "5 4"},
		"one component, then the others":                {[]*history.Entry{up("4", "v2", "done"), only(up("3", "v2", "done")), up("2", "v1", "done")}, "", "4 3"},
		"one component after a completed upgrade":       {[]*history.Entry{only(up("4", "v2", "done")), up("3", "v2", "done")}, "", "4"},
		"from a named run":                              {[]*history.Entry{up("3", "v3", "done"), up("2", "v2", "done"), up("1", "v2", "killed")}, "2", "2 1"},
		"from a named run that is reverted":             {[]*history.Entry{revertEntry("5", "3", engine.OutcomeDone), up("3", "v2", "done"), up("2", "v2", "killed")}, "3", "3 2"},
		"from a run that is no upgrade":                 {[]*history.Entry{install, up("2", "v2", "done")}, "3", ""},
		"from one that is reverted, log without change": {[]*history.Entry{revertEntry("5", "3", engine.OutcomeDone), up("3", "v2", "cut"), up("2", "v2", "done")}, "3", "3"},
		"of another checkout, recorded by hosts":        {[]*history.Entry{keptBy(up("3", "v2", "done"), "m1"), up("2", "v1", "done")}, "", "3"},
		"logs without versions, with the same --to":     {[]*history.Entry{withoutVersions(up("2", "", "done"), "v2"), withoutVersions(up("1", "", "failed"), "v2")}, "", "2 1"},
		"logs without versions, with different ones":    {[]*history.Entry{withoutVersions(up("2", "", "done"), "v2"), withoutVersions(up("1", "", "done"), "v1")}, "", "2"},
		"brief log of a killed run to other versions":   {[]*history.Entry{brief(up("4", "v3", "cut")), up("2", "v2", "done")}, "", "2"},
		"brief log of a refused run of the same target": {[]*history.Entry{brief(up("4", "v2", "refused")), up("2", "v2", "done")}, "", "4 2"},
	} {
		if got := strings.Join(UpgradeChain(c.all, "/i", c.from), " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// keptBy returns the run of another checkout of the inventory.
func keptBy(r *history.Entry, host string) *history.Entry {
	r.Header.Invocation.Inventory, r.Keepers = "/checkouts/b/i", []string{host}
	return r
}

func withoutVersions(r *history.Entry, to string) *history.Entry {
	r.Header.Versions, r.Header.Invocation.Kubernetes = nil, to
	return r
}

func only(r *history.Entry) *history.Entry {
	r.Header.Invocation.Tags = []string{"kubelet"}
	return r
}

func brief(r *history.Entry) *history.Entry {
	r.Brief = true
	return r
}

// TestUndecided checks which logs of hosts are read whole to find the upgrade.
func TestUndecided(t *testing.T) {
	all := []*history.Entry{brief(upgradeEntry("6", "v3", "cut")), brief(upgradeEntry("5", "v3", "refused")), brief(upgradeEntry("4", "v3", "idle")),
		brief(upgradeEntry("3", "v3", "done")), upgradeEntry("2", "v3", "cut")}
	if got := strings.Join(Undecided(all, "/i"), " "); got != "6 5" {
		t.Errorf("%q, want 6 and 5", got)
	}
}

// TestNextRollback checks the rest of a rollback that was interrupted between two
// runs of its upgrade.
func TestNextRollback(t *testing.T) {
	up := upgradeEntry
	for name, c := range map[string]struct {
		all  []*history.Entry
		want string
	}{
		"one run is left":            {[]*history.Entry{revertEntry("5", "3", engine.OutcomeDone), up("3", "v2", "done"), up("2", "v2", "killed")}, "2"},
		"none is left":               {[]*history.Entry{revertEntry("6", "2", engine.OutcomeDone), revertEntry("5", "3", engine.OutcomeDone), up("3", "v2", "done"), up("2", "v2", "killed")}, ""},
		"an upgrade to others":       {[]*history.Entry{revertEntry("5", "3", engine.OutcomeDone), up("3", "v2", "done"), up("2", "v1", "done")}, ""},
		"what is left has no change": {[]*history.Entry{revertEntry("5", "3", engine.OutcomeDone), up("3", "v2", "done"), up("2", "v2", "cut")}, ""},
		"a run has followed":         {[]*history.Entry{up("6", "v2", "done"), revertEntry("5", "3", engine.OutcomeDone), up("3", "v2", "done"), up("2", "v2", "killed")}, ""},
		"the rollback was killed":    {[]*history.Entry{revertEntry("5", "3", journal.Killed), up("3", "v2", "done"), up("2", "v2", "killed")}, ""},
		"the revert of an install":   {[]*history.Entry{revertEntry("5", "0", engine.OutcomeDone), up("3", "v2", "done"), up("2", "v2", "killed")}, ""},
		"no run":                     {nil, ""},
	} {
		if _, got := NextRollback(c.all, "/i"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestNewerParts checks which newer runs of its upgrade a resumed rollback takes back first:
// those that a host was down for.
func TestNewerParts(t *testing.T) {
	a, b := upgradeEntry("2", "v2", "killed"), upgradeEntry("3", "v2", "done")
	missed := []*history.Entry{revertEntry("6", "2", engine.OutcomePartial), revertEntry("5", "3", engine.OutcomePartial), b, a}
	if got := strings.Join(newerParts(missed, "/i", "2"), " "); got != "3" {
		t.Errorf("both reverts missed a host: %q, want 3", got)
	}
	again := []*history.Entry{upgradeEntry("7", "v2", "done"), revertEntry("6", "2", engine.OutcomePartial), a}
	if got := newerParts(again, "/i", "2"); len(got) > 0 {
		t.Errorf("an upgrade that was given after the rollback would be taken back: %q", got)
	}
}
