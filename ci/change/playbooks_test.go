package change_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/ci/change"
)

// withPlaybooks returns the site of an inventory with os.yaml on all hosts before the cluster
// is changed, and addons.yaml on m1 after it; each with a digest.
func withPlaybooks(t *testing.T, text, os, addons string) *change.Site {
	t.Helper()
	s := site(t, text)
	for _, p := range []change.Playbook{
		{File: "os.yaml", Digest: os, Hosts: []string{"m1", "m2", "m3", "n1", "n2"}, First: true},
		{File: "addons.yaml", Digest: addons, Hosts: []string{"m1"}},
	} {
		if p.Digest != "" {
			s.Playbooks = append(s.Playbooks, p)
		}
	}
	return s
}

func commandLines(c change.Change) (out []string) {
	for _, s := range c.Steps() {
		out = append(out, s.String())
	}
	return out
}

func TestPlaybooksRun(t *testing.T) {
	more := strings.NewReplacer("n[1:2]", "n[1:3]", "[21:22]", "[21:23]").Replace(base)
	other := strings.NewReplacer("n[1:2]", "n[2:3]", "[21:22]", "[22:23]").Replace(base)
	for name, c := range map[string]struct {
		before, after *change.Site
		playbooks     bool // of the kinds
		steps         []string
		touched       []string
	}{
		"no difference": {withPlaybooks(t, base, "1", "1"), withPlaybooks(t, base, "1", "1"), false, nil, nil},
		"a changed playbook runs all playbooks": {withPlaybooks(t, base, "1", "1"), withPlaybooks(t, base, "1", "2"), true,
			[]string{"deployer run os.yaml", "deployer run addons.yaml"}, []string{"m1"}},
		"a new playbook": {withPlaybooks(t, base, "", "1"), withPlaybooks(t, base, "1", "1"), true,
			[]string{"deployer run os.yaml", "deployer run addons.yaml"}, []string{"m1", "m2", "m3", "n1", "n2"}},
		"a removed playbook": {withPlaybooks(t, base, "1", "1"), withPlaybooks(t, base, "", "1"), false, nil, nil},
		"hosts leave and join": {withPlaybooks(t, base, "1", "1"), withPlaybooks(t, other, "1", "1"), false,
			[]string{"deployer scale-down --yes n1", "deployer run os.yaml", "deployer scale-up n3", "deployer run addons.yaml"}, []string{"n1", "n3"}},
		"a new cluster": {nil, withPlaybooks(t, base, "1", "1"), true,
			[]string{"deployer run os.yaml", "deployer apply --yes", "deployer run addons.yaml"}, []string{"m1", "m2", "m3", "n1", "n2"}},
		"a host joins": {withPlaybooks(t, base, "1", "1"), withPlaybooks(t, more, "1", "1"), false,
			[]string{"deployer run os.yaml", "deployer scale-up n3", "deployer run addons.yaml"}, []string{"n3"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := change.Between(c.before, c.after)
			if diff := cmp.Diff(c.steps, commandLines(got)); diff != "" {
				t.Error(diff)
			}
			if got.Is(change.KindPlaybooks) != c.playbooks {
				t.Errorf("kinds %v", got.Kinds())
			}
			var touched []string
			if !got.Nothing() {
				touched = got.Touched(c.before, c.after)
			}
			if diff := cmp.Diff(c.touched, touched); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlaybooksBehindAnInterruptedDeploy(t *testing.T) {
	before, wanted := withPlaybooks(t, base, "1", "1"), withPlaybooks(t, base, "2", "2")
	d := change.Interrupted{Verified: before, Before: before, Wanted: wanted, Steps: change.Between(before, wanted).Steps()}
	all := []string{"deployer run os.yaml", "deployer run addons.yaml"}
	for done, begun := range []int{1, 2} { // os.yaml may have run; addons.yaml may have run
		d.Done, d.Begun = done, begun
		for name, after := range map[string]*change.Site{"back": before, "on": wanted} {
			if diff := cmp.Diff(all, commandLines(d.ChangeTo(after))); diff != "" {
				t.Errorf("%s after %d steps: %s", name, done, diff)
			}
		}
	}
	d.Done, d.Begun = 2, 2
	if c := d.ChangeTo(wanted); !c.Nothing() {
		t.Errorf("a complete deploy leaves %+v", c)
	}
}
