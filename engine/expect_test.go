package engine_test

import (
	"strings"
	"testing"

	"deployer/engine"
)

func TestFingerprint(t *testing.T) {
	base := engine.Effect{Kind: engine.EffectFile, Target: "/a", Action: "replace", Diff: "-1\n+2\n"}
	seen := map[string]engine.Effect{}
	for _, change := range []func(*engine.Effect){
		func(*engine.Effect) {},
		func(e *engine.Effect) { e.Kind = engine.EffectUnit },
		func(e *engine.Effect) { e.Target = "/b" },
		func(e *engine.Effect) { e.Action = "create" },
		func(e *engine.Effect) { e.Diff = "-1\n+3\n" },
		func(e *engine.Effect) { e.Diff, e.Secret = "", true },
		func(e *engine.Effect) { e.Diff = "" },
		func(e *engine.Effect) { e.Target, e.Action = "/arep", "lace" },
	} {
		e := base
		change(&e)
		f := e.Fingerprint()
		if other, twice := seen[f]; twice || len(f) != 32 {
			t.Errorf("%s: %+v and %+v", f, e, other)
		}
		seen[f] = e
	}
	drain := engine.Effect{Kind: engine.EffectDrain, Target: "the node", Action: "drain", Diff: "-a\n"}
	if other := (engine.Effect{Kind: engine.EffectDrain, Target: "the node", Action: "drain", Diff: "-b\n"}); other.Fingerprint() != drain.Fingerprint() {
		t.Error("that a pod has moved makes another drain")
	}
	reason := base
	reason.Reason = "it started before /b changed"
	if reason.Fingerprint() != base.Fingerprint() {
		t.Error("the same effect for another reason has another fingerprint")
	}
	if again := base; again.Fingerprint() != base.Fingerprint() {
		t.Error("the same effect has two fingerprints")
	}
}

func TestExpect(t *testing.T) {
	file := engine.Effect{Kind: engine.EffectFile, Target: "/a", Action: "replace", Diff: "-1\n+2\n"}
	other := file
	other.Diff = "-x\n+2\n"
	restart := engine.Effect{Kind: engine.EffectRestart, Target: "a.service", Action: "restart"}
	strict := &engine.Expect{Effects: []string{file.Fingerprint(), restart.Fingerprint()}}
	caused := restart
	caused.Reason = "it started before /a changed"
	loose := &engine.Expect{Targets: []string{file.KindAndTarget()}}
	for name, c := range map[string]struct {
		expect *engine.Expect
		change engine.Change
		want   string
	}{
		"as planned":                             {strict, engine.Changed(file, restart), ""},
		"less than planned":                      {strict, engine.Changed(restart), ""},
		"as planned, for another reason":         {strict, engine.Changed(caused), ""},
		"no change":                              {strict, engine.NoChange(nil), ""},
		"wait only":                              {&engine.Expect{}, engine.Change{Needed: true, Wait: true}, ""},
		"other action than planned":              {strict, engine.Changed(other), "file /a: replace is not in it"},
		"other action, target is permitted":      {loose, engine.Changed(other), ""},
		"more than planned":                      {loose, engine.Changed(file, restart), "restart a.service: restart is not in it"},
		"no evidence of other people":            {&engine.Expect{}, engine.Changed(caused), "restart: it started before /a changed is not in it; the step changed nothing. The host has changed since the plan was made, or an earlier step"},
		"effect without a plan":                  {&engine.Expect{}, engine.Changed(file), "file /a"},
		"change without effects, without a plan": {&engine.Expect{}, engine.Changed(), "a change is not in it"},
		"change without effects, as planned":     {&engine.Expect{Effects: []string{engine.Effect{}.Fingerprint()}}, engine.Changed(), ""},
		"no plan":                                {nil, engine.Changed(file), ""},
	} {
		err := c.expect.Allows(c.change)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestAllowsTargetsWithSecrets checks that targets with secrets are compared in the form in
// which a plan shows them.
func TestAllowsTargetsWithSecrets(t *testing.T) {
	for _, tt := range []struct {
		planned, target string
		want            bool
	}{
		{"/etc/[secret].conf", "/etc/name.conf", true},
		{"/etc/[secret].conf", "/etc/name.con", false},
		{"/etc/[secret].conf", "/srv/name.conf", false},
		{"echo [secret] and [secret]...", "echo a and b and c...", true},
		{"echo [secret] and [secret]", "rm a and b", false},
		{"[secret]", "anything", true},
		{"a[secret]b", "a", false},
		{"a[secret]a", "a", false},
	} {
		x := &engine.Expect{Targets: []string{"file " + tt.planned}}
		err := x.Allows(engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: tt.target, Action: "create"}))
		if (err == nil) != tt.want {
			t.Errorf("%q, %q: %v", tt.planned, tt.target, err)
		}
	}
}
