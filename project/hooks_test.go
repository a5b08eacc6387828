package project_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
	"deployer/project"
)

// TestHooksOfHosts checks that texts of hooks are evaluated for each host, with all keys
// that a role reads.
func TestHooksOfHosts(t *testing.T) {
	inDir(t, map[string]string{"inventory.yaml": `
hosts: {m1: {address: 10.0.0.1}, n1: {address: 10.0.0.2, vars: {pool: web}}}
roles: {master: m1, minion: n1}
cluster:
  maintenance:
    hooks:
      - {name: plain, command: [logger, work]}
      - name: load balancer
        phase: after
        http: {url: "https://lb.example.com/{{ pool }}/{{ host.name }}", secret_headers: {Authorization: {env: LB_TOKEN}}}
`})
	p, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.Variables()
	if err != nil {
		t.Fatal(err)
	}
	vars := lang.NewVars(v.ForHost("n1"), nil)
	e, err := lang.CompileExpr("maintenance_hooks", lang.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if err := vars.PushScope(nil, e.Refs()); err != nil {
		t.Fatal(err)
	}
	got, err := e.Eval(vars.Map())
	if err != nil {
		t.Fatal(err)
	}
	want := []any{
		map[string]any{"name": "plain", "phase": "before", "always": false, "command": []any{"logger", "work"}, "env": map[string]any{}, "http": nil, "timeout": "5m0s"},
		map[string]any{"name": "load balancer", "phase": "after", "always": false, "command": []any{}, "env": map[string]any{}, "timeout": "5m0s",
			"http": map[string]any{"url": "https://lb.example.com/web/n1", "method": "", "headers": map[string]any{}, "body": "", "status": []any{}, "ca": "",
				"secret_headers": map[string]any{"Authorization": map[string]any{"env": "LB_TOKEN", "file": ""}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestHooksThatCannotRun checks that errors in hooks are found without the network,
// with their place.
func TestHooksThatCannotRun(t *testing.T) {
	for hook, want := range map[string]string{
		"{name: a}":                                                    `inventory.yaml:5:5: cluster.maintenance.hooks: hook "a": want command or http`,
		"{command: [x]}":                                               `inventory.yaml:5:13: maintenance.hooks[0] of cluster: key "name" is required`,
		"{name: a, command: [x], phase: during}":                       `want one of before, after, removed, got "during"`,
		"{name: a, command: [x], timeout: -1s}":                        `hook "a": timeout -1s: want a duration such as 5m`,
		"{name: a, command: [x]}, {name: a, command: [y]}":             `hook "a": a hook needs a name of its own`,
		"{name: a, command: [x], http: {url: 'https://a'}}":            `hook "a": command and http are two hooks: write two`,
		"{name: a, http: {url: a}}":                                    `hook "a": "a" is no http or https URL`,
		"{name: a, http: {url: 'https://a', secret_headers: {X: {}}}}": `hook "a": secret_headers: X: want file or env`,
		"{name: a, http: {url: 'https://a', status: [2000]}}":          `hook "a": 2000 is no status code of HTTP`,
		"{name: a, phase: removed, command: ['{{ facts.os }}']}":       `a hook of phase removed reads facts or results`,
		"{name: a, command: ['{{ host.name']}":                         `inventory.yaml:5:5: template: {{ has no }}`,
	} {
		inDir(t, map[string]string{"inventory.yaml": "hosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1}\ncluster:\n  maintenance:\n    hooks: [" + hook + "]\n"})
		p, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}})
		if err == nil {
			_, err = p.Variables()
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "inventory.yaml:5:") {
			t.Errorf("%s: %v, want %q", hook, err, want)
		}
	}
}

// TestHooksOfDeadHosts checks that the hosts that are left have the hooks of a dead host, with its texts.
func TestHooksOfDeadHosts(t *testing.T) {
	for hooks, want := range map[string][]any{
		"[]":                            {},
		"[{name: early, command: [x]}]": {},
		"[{name: power, phase: removed, command: [off, '{{ pool }}', '{{ host.name }}']}, {name: early, command: ['{{ run.id }}', '{{ facts.os }}']}]": {
			map[string]any{"host": "n1", "address": "10.0.0.2", "name": "power", "phase": "removed", "always": false, "command": []any{"off", "web", "n1"}, "env": map[string]any{}, "http": nil, "timeout": "5m0s"},
		},
	} {
		inDir(t, map[string]string{"inventory.yaml": `
hosts: {m1: {address: 10.0.0.1, vars: {pool: masters}}, n1: {address: 10.0.0.2, vars: {pool: web}}, n2: {address: 10.0.0.3, vars: {pool: db}}}
roles: {master: m1, minion: [n1, n2]}
cluster: {maintenance: {hooks: ` + hooks + `}}
`})
		p, err := project.LoadCluster("inventory.yaml", project.Options{Agents: agents{}, Groups: project.RunGroups{Dead: []string{"n1"}}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Variables()
		if err != nil {
			t.Fatal(err)
		}
		v.ResolveHostVars(nil)
		vars := lang.NewVars(v.ForHost("m1"), nil)
		e, err := lang.CompileExpr(`hosts[leaving.dead[0]].vars.removed_hooks`, lang.Origin{})
		if err != nil {
			t.Fatal(err)
		}
		if err := vars.PushScope(nil, e.Refs()); err != nil {
			t.Fatal(err)
		}
		got, err := e.Eval(vars.Map())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(want), got); diff != "" {
			t.Errorf("hooks %s: %s", hooks, diff)
		}
	}
}
