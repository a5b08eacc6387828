package revert

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"deployer/engine"
	"deployer/engine/compile"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// module changes something; with Gate it is a readiness gate.
type module struct {
	Path   string `yaml:"path"`
	IsGate bool   `yaml:"gate"`
	Look   bool   `yaml:"look"`
}

func (*module) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{}, nil
}

func (*module) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (m *module) ReadOnly() bool { return m.Look }

func (m *module) Gate() any {
	if !m.IsGate {
		return nil
	}
	return m
}

// action is an action that waits, is read-only or changes something.
type action struct {
	IsGate bool `yaml:"gate"`
	Look   bool `yaml:"look"`
}

func (*action) Check(context.Context, engine.ActionContext) (engine.Change, error) {
	return engine.Change{}, nil
}

func (*action) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (a *action) ReadOnly() bool { return a.Look }

func (a *action) Gate() any {
	if !a.IsGate {
		return nil
	}
	return a
}

func mustCompile(t testing.TB, text string) *program.Program {
	t.Helper()
	lib := compile.Compiler{Registry: engine.NewRegistry([]engine.Kind{
		{Name: "do", New: func() any { return &module{} }},
		{Name: "act", New: func() any { return &action{} }},
	})}
	p, err := lib.Compile(lang.Tree{FS: fstest.MapFS{"site.yaml": {Data: []byte(text)}}}, "site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// things returns the history of a host from lines such as "file /a 1.play.1 made
// late".
func things(lines ...string) engine.RunHistory {
	p := engine.RunHistory{Known: true}
	for _, line := range lines {
		if step, ok := strings.CutPrefix(line, "ran "); ok {
			p.Executed = append(p.Executed, step)
			continue
		}
		f := strings.Fields(line)
		item := engine.ChangeRecord{Kind: f[0], Name: f[1], Effect: engine.EffectKind(f[0]), Steps: strings.Split(f[2], ","), State: engine.RevertRestore}
		if slices.Contains(f, "lost") {
			item.State = engine.RevertLost
		}
		item.Created, item.Started, item.NeedsFilesFirst = slices.Contains(f, "made"), slices.Contains(f, "started"), slices.Contains(f, "late") || slices.Contains(f, "both")
		item.BeforeFiles = slices.Contains(f, "both")
		p.Items = append(p.Items, item)
	}
	return p
}

// layout returns a program as text, one operation a line.
func layout(m *Inverted) []string {
	var out []string
	depth := 0
	say := func(format string, args ...any) {
		out = append(out, strings.Repeat("  ", depth)+fmt.Sprintf(format, args...))
	}
	for _, op := range m.Program.Ops {
		switch op.Kind {
		case program.OpPlay:
			say("%s", op.Play.Name)
			depth++
		case program.OpPlayEnd:
			for _, h := range op.Play.Handlers {
				say("handler %s%s", h.Name, hosts(h.OnlyHosts))
			}
			depth--
		case program.OpBatch:
			say("batches of %s", op.Play.Serial)
		case program.OpBarrier:
			say("barrier")
		case program.OpFlush:
			say("handlers")
		case program.OpLabel:
			say("label %s", op.Label.Name)
		case program.OpBlock:
			say("block%s%s%s%s", throttled(op.Block.Throttle), rolled(op.Block.Rollout), hosts(op.Block.OnlyHosts), needs(op.Block.Needs))
			depth++
		case program.OpEnd:
			depth--
		case program.OpTask:
			say("%s%s%s%s", describe(op.Task), throttled(op.Task.Throttle), hosts(op.Task.OnlyHosts), needs(op.Task.Needs))
		}
	}
	return out
}

func describe(t *program.Task) string {
	if t.Kind.Name != engine.RevertModule {
		return "do " + t.Name
	}
	var v engine.Revert
	if err := json.Unmarshal(t.FixedArgs, &v); err != nil || v.ID() != t.ID {
		return "wrong: " + t.ID + " " + string(t.FixedArgs)
	}
	text := "undo " + t.Name
	if v.Task == "" {
		text = "undo the rest"
	}
	if v.AfterFiles {
		text += " late"
	}
	for _, h := range t.Notify {
		text += " -> " + h.Name
	}
	return text
}

func throttled(e *lang.Expr) string {
	if e == nil {
		return ""
	}
	return " at most " + e.Src
}

func rolled(r *program.Rollout) string {
	if r == nil {
		return ""
	}
	return " canary of " + strings.Join(r.Canary.Names, ", ")
}

func hosts(only map[string]bool) string {
	if only == nil {
		return ""
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(only)) {
		if only[name] {
			names = append(names, name)
		}
	}
	return " [" + strings.Join(names, " ") + "]"
}

func needs(list []program.Need) string {
	out := ""
	for _, n := range list {
		out += " after " + n.Label.Name
	}
	return out
}
