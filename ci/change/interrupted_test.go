package change_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/ci/change"
)

// edited returns base with other minions, hosts 10.0.0.21 to .24, and further edits.
func edited(minions string, pairs ...string) string {
	text := strings.NewReplacer("n[1:2]: {address: \"10.0.0.[21:22]\"}", "n[1:4]: {address: \"10.0.0.[21:24]\"}", "minion: n[1:2]", "minion: \""+minions+"\"").Replace(base)
	return strings.NewReplacer(pairs...).Replace(text)
}

func TestChangeBehindAnInterruptedDeploy(t *testing.T) {
	const setting, version = "vars: {a: 2}", "v1.36.3"
	for name, c := range map[string]struct {
		before, wanted, after string
		begun, done           int
		steps                 []string
		old                   string // the revision of scale-down: before or wanted
	}{
		"a host that may have joined leaves": {edited("n[1:2]"), edited("n[1:4]"), edited("n[1:3]"), 1, 0,
			[]string{"deployer scale-down --yes n4", "deployer scale-up n3"}, "wanted"},
		"a host that has joined leaves": {edited("n[1:2]"), edited("n[1:4]", "vars: {a: 1}", setting), edited("n[1:3]", "vars: {a: 1}", setting), 2, 1,
			[]string{"deployer scale-down --yes n4", "deployer apply --yes"}, "wanted"},
		"a join that was not begun is forgotten": {edited("n[1:2]"), edited("n[2:4]"), edited("n2"), 1, 1, nil, ""},
		"a host that has left comes back": {edited("n[1:2]"), edited("n[2:3]"), edited("n[1:2]"), 2, 1,
			[]string{"deployer scale-down --yes n3", "deployer scale-up n1"}, "wanted"},
		"a host that may have left comes back": {edited("n[1:2]"), edited("n2"), edited("n[1:2]"), 1, 0,
			[]string{"deployer scale-up n1"}, ""},
		"a host that may have left leaves": {edited("n[1:2]"), edited("n2"), edited("n2", "vars: {a: 1}", setting), 1, 0,
			[]string{"deployer scale-down --yes n1", "deployer apply --yes"}, "before"},
		"a departure that was not begun": {edited("n[1:2]"), edited("n2"), edited("n[1:2]"), 0, 0, nil, ""},
		"a minion that may be a master is a minion again": {edited("n[1:3]"), edited("n3", "master: m[1:3]", "master: \"m[1:3], n[1:2]\""), edited("n[1:3]"), 1, 0,
			[]string{"deployer scale-down --keep-node --yes --allow-masters n1 n2"}, "wanted"},
		"settings that were applied in part are restored": {edited("n1"), edited("n1", "vars: {a: 1}", setting), edited("n1"), 1, 0, []string{"deployer apply --yes"}, ""},
		"settings that were not applied":                  {edited("n1"), edited("n[1:2]", "vars: {a: 1}", setting), edited("n[1:2]", "vars: {a: 1}", setting), 2, 1, []string{"deployer apply --yes"}, ""},
		"an upgrade is repeated":                          {edited("n1"), edited("n1", "v1.35.4", version), edited("n1", "v1.35.4", version), 1, 0, []string{"deployer upgrade"}, ""},
		"an upgrade that was not begun":                   {edited("n1"), edited("n1", "v1.35.4", version), edited("n1"), 0, 0, nil, ""},
		"all steps done":                                  {edited("n1"), edited("n[1:2]"), edited("n[1:2]"), 1, 1, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := change.Interrupted{Verified: site(t, c.before), Before: site(t, c.before), Wanted: site(t, c.wanted), Begun: c.begun, Done: c.done}
			for _, s := range change.Between(d.Before, d.Wanted).Steps() {
				d.Steps = append(d.Steps, change.ParseStep(s.String()))
			}
			got := d.ChangeTo(site(t, c.after))
			var steps []string
			for _, s := range got.Steps() {
				steps = append(steps, s.String())
			}
			if diff := cmp.Diff(c.steps, steps); diff != "" {
				t.Errorf("%s\n%+v", diff, got)
			}
			if old := map[string]*change.Site{"before": d.Before, "wanted": d.Wanted}[c.old]; c.old != "" && d.OldSite(got) != old {
				t.Errorf("scale-down reads another inventory than that of %s", c.old)
			}
			if got.Stranded != nil {
				t.Errorf("stranded %v", got.Stranded)
			}
		})
	}
}

// TestFollowingPushOfARepeatedJoin: the join of n3 was due to be repeated and did not
// run, so the next deploy repeats it.
func TestFollowingPushOfARepeatedJoin(t *testing.T) {
	b := site(t, edited("n[1:3]"))
	d := change.Interrupted{Before: b, Wanted: site(t, edited("n[1:3]", "{a: 1}", "{a: 2}")), Begun: 0, Done: 0,
		Steps: []change.Step{change.ParseStep("deployer scale-up n3"), change.ParseStep("deployer apply --yes")}}
	if got := d.ChangeTo(b); len(got.Joining) != 1 || got.Joining[0].Host != "n3" {
		t.Errorf("got %+v", got)
	}
}

func TestHostsThatNoInventoryTakesOut(t *testing.T) {
	install := change.Interrupted{Wanted: site(t, edited("n[1:2]")), Begun: 1, Steps: []change.Step{change.ParseStep("deployer apply --yes")}}
	if got := install.ChangeTo(site(t, edited("n1"))); !got.First || len(got.Stranded) != 1 || got.Stranded[0].Host != "n2" {
		t.Errorf("got %+v", got)
	}
	// The departure of n1 was due, so n1 stays only in the revision before; n4 may
	// have joined.
	d := change.Interrupted{Before: site(t, edited("n[1:2]")), Wanted: site(t, edited("n2, n4")), Begun: 2, Done: 0,
		Steps: []change.Step{change.ParseStep("deployer scale-down --yes n1"), change.ParseStep("deployer scale-up n4")}}
	if got := d.ChangeTo(site(t, edited("n2"))); len(got.Stranded) != 2 {
		t.Errorf("got %+v", got)
	}
}
