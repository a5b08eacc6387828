package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"deployer/engine/program"
	"deployer/strictyaml"
)

func TestPrompts(t *testing.T) {
	p := mustCompile(t, "site.yaml", `- hosts: all
  vars_prompt:
    - name: password
    - {name: release, prompt: which release, default: "1.10", private: false}
    - {name: pin, confirm: true}
- hosts: all
  vars_prompt: [{name: release, prompt: asked already}]
`)
	want := []program.Prompt{
		{Pos: strictyaml.Pos{File: "site.yaml", Line: 3, Col: 13}, Name: "password", Question: "password", Private: true},
		{Name: "release", Question: "which release", Default: "1.10"},
		{Name: "pin", Question: "pin", Private: true, Confirm: true},
	}
	if diff := cmp.Diff(want[1:], p.Prompts[1:], cmpopts.IgnoreFields(program.Prompt{}, "Pos")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[0], p.Prompts[0]); diff != "" {
		t.Error(diff)
	}
}

func TestPromptErrors(t *testing.T) {
	for prompts, want := range map[string]string{
		"[{prompt: x}]":                  `"name" is required`,
		"[{name: item}]":                 `site.yaml:2:24: the variable "item" belongs to the engine`,
		"[{name: a-b}]":                  `"a-b" cannot be the name of a variable`,
		"[{name: a, encrypt: sha512}]":   `unknown key "encrypt" in vars_prompt: the answer is not changed; for the module user`,
		"[{name: a, prompt: '{{ b }}'}]": "vars_prompt cannot contain",
		"{name: a}":                      "vars_prompt: want a list",
	} {
		_, err := compileFiles(t, nil, "site.yaml", "- hosts: all\n  vars_prompt: "+prompts+"\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", prompts, err, want)
		}
	}
}

// TestPromptedNamesAreDefined: prompted variables count as defined, with unknown values.
func TestPromptedNamesAreDefined(t *testing.T) {
	site := "- hosts: all\n  vars_prompt: [{name: sites}]\n  tasks: [{file: {path: '/{{ sites }}'}}, {include_tasks: inc.yaml, loop: sites}]\n"
	for _, given := range []map[string]any{nil, {"sites": []any{"a"}}} {
		lib := inventoryOf(map[string]map[string]any{"h1": {}})
		lib.RunHosts, lib.Extra = []string{"h1"}, given
		_, err := compileFiles(t, lib, "site.yaml", site, "inc.yaml", "[]\n")
		if given == nil && (err == nil || !strings.Contains(err.Error(), "it reads sites, which the user is asked for later; set it with -e sites=...")) || given != nil && err != nil {
			t.Errorf("given %v: %v", given, err)
		}
	}
}
