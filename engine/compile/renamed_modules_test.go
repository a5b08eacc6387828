package compile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRenamedModules: an Ansible module name is an error that names deployer's module.
func TestRenamedModules(t *testing.T) {
	renamed := map[string]string{"lineinfile": "line", "no_log": "secret", "setup": "facts, with gather"}
	const unknown = `site.yaml:2:12: unknown task keyword or module `
	for task, want := range map[string]string{
		"lineinfile: {path: /a}":           unknown + `"lineinfile": deployer calls it line`,
		"no_log: true":                     unknown + `"no_log": deployer calls it secret`,
		"ansible.legacy.setup: {}":         unknown + `"ansible.legacy.setup": deployer calls it facts, with gather`,
		"ansible.builtin.file: {path: /a}": unknown + `"ansible.builtin.file": write file; there are no collections here`,
		"ansible.builtin.flie: {path: /a}": unknown + `"ansible.builtin.flie"; did you mean "file"?`,
		"community.crypto.thing: {}":       unknown + `"community.crypto.thing"; deployer doc lists the modules, and command runs any program`,
	} {
		_, err := compileFiles(t, &Compiler{Renamed: renamed}, "site.yaml", "- hosts: all\n  tasks: [{"+task+"}]\n")
		if err == nil {
			t.Errorf("%s: compiled", task)
		} else if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%s: %s", task, diff)
		}
	}
}
