package runs

import (
	"testing"

	"deployer/engine"
	"deployer/runs/history"
)

// TestUpgradeToVersions checks which upgrade a rollback of CI means: the one to the versions of its
// inventory, also when a person has taken it back, and never one before it.
func TestUpgradeToVersions(t *testing.T) {
	up, done := upgradeEntry, engine.OutcomeDone
	otherCheckout := up("3", "v3", "done")
	otherCheckout.Header.Invocation.Inventory, otherCheckout.Keepers = "/checkouts/b/i", []string{"m1"}
	for name, c := range map[string]struct {
		all         []*history.Entry // newest first
		want, other string
	}{
		"the newest":                     {[]*history.Entry{up("3", "v3", "done"), up("2", "v2", "done")}, "3", ""},
		"rolled back by a person":        {[]*history.Entry{revertEntry("4", "3", done), up("3", "v3", "done"), up("2", "v2", "done")}, "3", ""},
		"rolled back in part":            {[]*history.Entry{revertEntry("4", "3", engine.OutcomePartial), up("3", "v3", "done"), up("2", "v2", "done")}, "3", ""},
		"given again":                    {[]*history.Entry{up("5", "v3", "done"), revertEntry("4", "3", done), up("3", "v3", "done")}, "5", ""},
		"another one after it":           {[]*history.Entry{up("4", "v4", "done"), up("3", "v3", "done")}, "", "4"},
		"another one that was reverted":  {[]*history.Entry{revertEntry("5", "4", done), up("4", "v4", "done"), up("3", "v3", "done")}, "3", ""},
		"another one without a change":   {[]*history.Entry{up("4", "v4", "refused"), up("3", "v3", "done")}, "3", ""},
		"killed in its checks":           {[]*history.Entry{up("3", "v3", "cut"), up("2", "v2", "done")}, "3", ""},
		"another one killed in checks":   {[]*history.Entry{up("4", "v4", "cut"), up("3", "v3", "done")}, "3", ""},
		"only the one before":            {[]*history.Entry{up("2", "v2", "done")}, "", "2"},
		"of another checkout":            {[]*history.Entry{otherCheckout, up("2", "v2", "done")}, "3", ""},
		"none":                           {nil, "", ""},
		"the clock of a revert is wrong": {[]*history.Entry{up("3", "v3", "done"), revertEntry("2", "3", done), up("1", "v2", "done")}, "3", ""},
	} {
		found, other := upgradeToVersions(c.all, "/i", map[string]string{"kubelet": "v3"})
		if runOf(found) != c.want || runOf(other) != c.other {
			t.Errorf("%s: found %q, other %q; want %q and %q", name, runOf(found), runOf(other), c.want, c.other)
		}
	}
}

func runOf(e *history.Entry) string {
	if e == nil {
		return ""
	}
	return e.Header.Run
}
