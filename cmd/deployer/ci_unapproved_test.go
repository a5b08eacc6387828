package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// validateUnapproved runs `deployer ci validate` as a hook does for a revision with these
// files; a text that begins with "->" is the target of a link. It returns the output, which
// ends with the exit code.
func (s *ciSite) validateUnapproved(files map[string]string, env ...string) string {
	s.t.Helper()
	s.sh("", "git checkout -q -f main && (git branch -D -q pushed 2>/dev/null || true) && git checkout -q -b pushed")
	for name, text := range files {
		path := filepath.Join(s.root, "work", name)
		_ = os.Remove(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			s.t.Fatal(err)
		}
		target, link := strings.CutPrefix(text, "->")
		if !link {
			s.write(filepath.Join("work", name), text, 0o644)
		} else if err := os.Symlink(target, path); err != nil {
			s.t.Fatal(err)
		}
	}
	s.sh("", "git add . && git commit -qm pushed && git checkout -q -f main")
	return s.sh("", `( deployer ci validate --old main --new pushed ) 2>&1 && echo "exit code 0" || echo "exit code $?"`,
		append([]string{"XDG_STATE_HOME=" + s.root + "/state", "XDG_CACHE_HOME=" + s.root + "/cache"}, env...)...)
}

// TestUnapprovedRevision: whoever may push a branch can neither read nor write a file of the
// CI machine outside of the revision, nor have a variable of its environment printed.
func TestUnapprovedRevision(t *testing.T) {
	t.Parallel()
	const secret = "Hunter2!secret word"
	valid := func(text string) string {
		return "cluster: {name: lab" + text + "}\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1}\n"
	}
	s := newCISite(t)
	s.write("private.yaml", "AKIA-of-another-file: hunter2-content\n", 0o600)
	outside := filepath.Join(s.root, "private.yaml")
	made := filepath.Join(s.root, "made", "deep", "main.lock")
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // in the output
	}{
		{"link for the inventory", map[string]string{"inventory.yaml": "->" + outside}, "inventory.yaml: the link leads to"},
		{"link for the configuration", map[string]string{"deployer.ci.yaml": "->" + outside}, "out of the repository"},
		{"link for the lock file", map[string]string{"deployer.lock": "->/dev/zero"}, "out of the repository"},
		{"link for variables", map[string]string{"group_vars/all.yaml": "->../../private.yaml"}, "out of the repository"},
		{"link to the metadata", map[string]string{"group_vars/all.yaml": "->../.git/config"}, "out of the repository"},
		{"link within the repository", map[string]string{"group_vars/all.yaml": "->../vars.yaml", "vars.yaml": "a: b\n"}, "exit code 0"},
		{"variable as a version", map[string]string{"inventory.yaml": valid(", kubernetes: !env SUDO_PASSWORD")}, "[secret]"},
		{"variable as a value of a component", map[string]string{"inventory.yaml": valid(", overrides: {kubelet: {cgroupDriver: !env SUDO_PASSWORD}}")}, "[secret]"},
		{"variable as an address", map[string]string{"inventory.yaml": "cluster: {name: lab}\nhosts: {m1: {address: !env SUDO_PASSWORD}}\nroles: {master: m1}\n"}, "[secret]"},
		{"password in the inventory", map[string]string{
			"inventory.yaml":   "cluster: {name: lab}\nhosts: {m1: {address: 10.0.0.1, vars: {x: \"{{ lookup('password', '" + made + " length=5') }}\"}}}\nroles: {master: m1}\n",
			"site.yaml":        "- {hosts: all, tasks: [{name: x, debug: {msg: x}}]}\n",
			"deployer.ci.yaml": "environments: {production: {inventories: [inventory.yaml], playbooks: [{file: site.yaml}]}}\n",
		}, "exit code 0"},
		{"loop over a lookup", map[string]string{
			"site.yaml":        "- {hosts: all, tasks: [{name: x, include_tasks: more.yaml, loop: \"lookup('file', '" + outside + "') | from_yaml\"}]}\n",
			"more.yaml":        "- {name: x, debug: {msg: '{{ item }}'}}\n",
			"deployer.ci.yaml": "environments: {production: {inventories: [inventory.yaml], playbooks: [{file: site.yaml}]}}\n",
		}, "advice: site.yaml:1:66: validation: loop at include_tasks: the items are not checked, because they depend on a lookup; the included tasks are checked once, without an item\nexit code 0"},
		{"variables outside", map[string]string{
			"site.yaml":        "- {hosts: all, vars_files: [" + outside + "], tasks: [{name: x, debug: {msg: x}}]}\n",
			"deployer.ci.yaml": "environments: {production: {inventories: [inventory.yaml], playbooks: [{file: site.yaml}]}}\n",
		}, "leads out of the revision"},
	} {
		got := s.validateUnapproved(c.files, "SUDO_PASSWORD="+secret)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: want %q in\n%s", c.name, c.want, got)
		}
		for _, part := range []string{"Hunter2", "hunter2", "secret word", "AKIA-of"} {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q is in\n%s", c.name, part, got)
			}
		}
	}
	if _, err := os.Lstat(filepath.Dir(filepath.Dir(made))); err == nil {
		t.Error("the lookup of a password has made a file")
	}
}

// TestAssessmentsEvaluateNoLookups: no verb that assesses a push evaluates a lookup of it or of the
// revision before, wherever it stands. Each lookup would make a file.
func TestAssessmentsEvaluateNoLookups(t *testing.T) {
	t.Parallel()
	s := newCISite(t)
	made := filepath.Join(s.root, "made")
	n := 0
	lookup := func() string {
		n++
		return fmt.Sprintf("lookup('password', '%s/%d length=5')", made, n)
	}
	value := func() string { return "\"{{ " + lookup() + " }}\"" }
	files := map[string]string{
		"shared.yaml": "vars: {of_extends: " + value() + "}\n",
		"inventory.yaml": "extends: shared.yaml\ncluster: {name: lab}\nvars: {of_all: " + value() + ", list: \"{{ [" + lookup() + "] }}\"}\n" +
			"groups: {web: {hosts: m1, vars: {of_group: " + value() + "}}}\nhosts: {m1: {address: 10.0.0.1, vars: {of_host: " + value() + "}}}\nroles: {master: m1}\n",
		"group_vars/all.yaml": "of_group_vars: " + value() + "\n",
		"host_vars/m1.yaml":   "of_host_vars: " + value() + "\n",
		"site.yaml": "- hosts: all\n  vars: {of_play: " + value() + "}\n  vars_files: [more.yaml]\n  roles: [r]\n" +
			"  tasks:\n" +
			"    - {name: " + value() + ", debug: {msg: " + value() + "}, when: \"" + lookup() + " == 'x'\", vars: {of_task: " + value() + "}, loop: \"[" + lookup() + "]\", register: r}\n" +
			"    - {name: a, include_tasks: tasks.yaml, loop: \"[" + lookup() + "]\"}\n" +
			"    - {name: b, include_tasks: tasks.yaml, loop: hosts.m1.vars.list}\n" +
			"    - {name: c, include_vars: " + strings.Replace(value(), "}}\"", "}}.yaml\"", 1) + "}\n" +
			"    - {name: d, template: {src: t.tmpl, dest: /etc/x}, delegate_to: " + value() + ", environment: {A: " + value() + "}}\n" +
			"    - {name: e, debug: {msg: \"{{ hosts.m1.vars.of_host }} {{ of_all }} {{ of_extends }} {{ of_group }} {{ of_group_vars }} {{ of_host_vars }} {{ of_play }} {{ of_file }}\"}}\n",
		"vars/a.yaml":                "of_included: " + value() + "\n",
		"tasks.yaml":                 "- {name: t, directory: {path: '/x/{{ item }}'}}\n",
		"more.yaml":                  "of_file: " + value() + "\n",
		"templates/t.tmpl":           "{{ .of_all }}\n",
		"roles/r/tasks/main.yaml":    "- {name: t, file: {path: '/x{{ of_role }}{{ of_defaults }}', content: " + value() + "}, notify: h}\n",
		"roles/r/handlers/main.yaml": "- {name: h, debug: {msg: " + value() + "}}\n",
		"roles/r/defaults/main.yaml": "of_defaults: " + value() + "\n",
		"roles/r/vars/main.yaml":     "of_role: " + value() + "\n",
		"deployer.ci.yaml":           "environments: {production: {inventories: [inventory.yaml], playbooks: [{file: site.yaml}]}}\n",
	}
	out := s.validateUnapproved(files)
	if !strings.HasSuffix(out, "exit code 0\n") || n < 23 {
		t.Fatalf("%d lookups:\n%s", n, out)
	}
	for name, command := range map[string]string{
		"plan":                          "deployer ci plan --old main --new pushed",
		"hook":                          "echo $(git rev-parse main pushed) refs/heads/main | deployer ci validate --hook",
		"from that revision":            "deployer ci validate --old pushed --new main",
		"before the push":               "echo $(git rev-parse pushed main) refs/heads/main | deployer ci validate --hook",
		"a job that names the revision": "GITLAB_CI=true CI_COMMIT_SHA=$(git rev-parse main) CI_COMMIT_BEFORE_SHA=$(git rev-parse pushed) deployer ci validate",
	} {
		out := s.sh("", "( "+command+" ) 2>&1 || true", "XDG_STATE_HOME="+s.root+"/state", "XDG_CACHE_HOME="+s.root+"/cache")
		if entries, err := os.ReadDir(made); err == nil {
			t.Fatalf("%s has evaluated the lookups %v:\n%s", name, entries, out)
		}
	}
}
