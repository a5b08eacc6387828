package agent

import (
	"strings"
	"testing"

	"deployer/engine"
)

// TestMayMake: mayMake reports the directories that the steps of a check may create.
func TestMayMake(t *testing.T) {
	file := func(action, target string) engine.Effect {
		return engine.Effect{Kind: engine.EffectFile, Action: action, Target: target}
	}
	for name, tt := range map[string]struct {
		effect engine.Effect
		dir    string
		want   bool
	}{
		"the directory":       {file(engine.CreateDirectory, "/a/b"), "/a/b", true},
		"one in it":           {file(engine.CreateDirectory, "/a/b/c"), "/a/b", true},
		"a file in it":        {file("install", "/a/b/c"), "/a/b", true},
		"the one above":       {file(engine.CreateDirectory, "/a"), "/a/b", false},
		"beside":              {file(engine.CreateDirectory, "/a/bc"), "/a/b", false},
		"unpacked above":      {file("unpack x.tar", "/a"), "/a/b", true},
		"a link above":        {file("link to /x", "/a"), "/a/b", true},
		"through a link":      {file(engine.CreateDirectory, "/link/b"), "/a/b", true},
		"a user":              {file("make", "user joe"), "/a/b", true},
		"a command":           {engine.Effect{Kind: engine.EffectCommand, Target: "true"}, "/a/b", true},
		"a package":           {engine.Effect{Kind: engine.EffectPackage, Target: "nginx"}, "/a/b", true},
		"something was shown": {engine.Effect{Kind: engine.EffectShow, Target: "msg"}, "/a/b", false},
	} {
		p := &dryRunState{}
		p.add(engine.Changed(tt.effect))
		real := func(path string) string { return strings.Replace(path, "/link", "/a", 1) }
		if got := p.mayMake(tt.dir, real); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
