package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
)

// TestResolveHostVars: ResolveHostVars computes the variables that other hosts may
// read, where their values are known before the run.
func TestResolveHostVars(t *testing.T) {
	base := hostVars(t, map[string]any{
		"plain": 1, "port": "{{ plain + 80 }}", "url": "{{ host.name }}:{{ port }}", "given": "{{ plain }}", "of_given": "{{ given }}",
		"os": "{{ facts.os }}", "maybe_os": "{{ \"facts\" in $env ? \"x\" : os }}", "of_play": "{{ area }}", "all": "{{ toJson($env) }}",
		"peer": "{{ hosts.b.address }}", "of_peer": "{{ peer }}",
	})
	base["host"], base["hosts"] = map[string]any{"name": "a"}, map[string]any{"b": map[string]any{"address": "10.0.0.2"}}
	want := map[string]any{"port": 81, "url": "a:81", "given": 5, "of_given": 5}
	if diff := cmp.Diff(want, lang.ResolveHostVars(base, map[string]any{"given": 5}, false)); diff != "" {
		t.Errorf("by itself (- want, + got):\n%s", diff)
	}
	want["peer"], want["of_peer"] = "10.0.0.2", "10.0.0.2"
	if diff := cmp.Diff(want, lang.ResolveHostVars(base, map[string]any{"given": 5}, true)); diff != "" {
		t.Errorf("with others (- want, + got):\n%s", diff)
	}
}

// TestAdviceForMissingHostVars: the error for a variable that other hosts cannot read
// lists the variables that they can read.
func TestAdviceForMissingHostVars(t *testing.T) {
	vars := lang.NewVars(map[string]any{"hosts": map[string]any{"b": map[string]any{"vars": map[string]any{"known": 1}}}, "vars": map[string]any{}, "x": "b"}, nil)
	for src, advice := range map[string]bool{
		"{{ hosts.b.vars.port }}": true, "{{ hosts[x].vars.port }}": true, "{{ vars.port }}": false, "{{ hosts.b.port }}": false,
		"hosts.b.vars.port": true, "hosts[x].vars.port": true, "hosts.b.vars[x]": true, "vars.port": false, "hosts.b.port": false,
	} {
		var err error
		if lang.IsTemplate(src) {
			text, wrong := lang.CompileInterpolation(src, lang.Origin{})
			if wrong != nil {
				t.Fatal(wrong)
			}
			_, err = text.Value(vars.Map())
		} else {
			e, wrong := lang.CompileExpr(src, lang.Origin{})
			if wrong != nil {
				t.Fatal(wrong)
			}
			_, err = e.Eval(vars.Map())
		}
		if err == nil || !strings.Contains(err.Error(), "unknown name") || strings.Contains(err.Error(), "delegate_to") != advice {
			t.Errorf("%s: %v, want the advice: %v", src, err, advice)
		}
	}
	e, err := lang.CompileExpr("(hosts.b.vars.port ?? 2) + hosts.b.vars.known", lang.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Eval(vars.Map()); err != nil || got != 3 {
		t.Errorf("with a default: %v, %v", got, err)
	}
}
