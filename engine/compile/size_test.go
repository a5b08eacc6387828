package compile

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestPlaybooksThatExplode: a few lines that stand for a large number of steps are an error, and soon.
func TestPlaybooksThatExplode(t *testing.T) {
	const site = "- hosts: all\n  tasks:\n    - include_tasks: f0.yaml\n"
	twice := []string{"site.yaml", site}
	imports := []string{"site.yaml", "[{import_playbook: p0.yaml}]"}
	roles := []string{"site.yaml", "- hosts: all\n  roles: [r0]\n"}
	for i := range 40 {
		twice = append(twice, fmt.Sprintf("f%d.yaml", i), fmt.Sprintf("[{include_tasks: f%d.yaml}, {include_tasks: f%d.yaml}]", i+1, i+1))
		imports = append(imports, fmt.Sprintf("p%d.yaml", i), fmt.Sprintf("[{import_playbook: p%d.yaml}, {import_playbook: p%d.yaml}]", i+1, i+1))
		roles = append(roles, fmt.Sprintf("roles/r%d/tasks/main.yaml", i), fmt.Sprintf("[{include_role: r%d}, {include_role: r%d}]", i+1, i+1))
	}
	for name, files := range map[string][]string{
		"files that include the next twice": append(twice, "f40.yaml", "[]"),
		"playbooks":                         append(imports, "p40.yaml", "[{hosts: all}]"),
		"roles":                             append(roles, "roles/r40/tasks/main.yaml", "[]"),
		"loops within each other": {"site.yaml", "- hosts: all\n  tasks:\n    - {include_tasks: a.yaml, loop: 1..300}\n",
			"a.yaml", "- {include_tasks: b.yaml, loop: 1..300, loop_control: {loop_var: a}}\n", "b.yaml", "- {include_tasks: c.yaml, loop: 1..300, loop_control: {loop_var: b}}\n", "c.yaml", "- {file: {path: /x}}\n"},
		"one loop": {"site.yaml", "- hosts: all\n  tasks:\n    - {include_tasks: a.yaml, loop: 1..900000}\n", "a.yaml", "- {file: {path: /x}}\n"},
	} {
		began := time.Now()
		_, err := compileFiles(t, nil, files...)
		want := "the playbook becomes too large here"
		if name == "one loop" {
			want = "it has more than 500000 items"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %.300v", name, err)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: found after %s", name, took)
		}
	}
}
