//go:build lab

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/test/harness"
)

// pushes deploys a playbook by a push to a bare repository on the controller; a push
// that would lose etcd's quorum is refused. `make e2e-ci` tests more.
func pushes(t *testing.T, s *site) {
	dir := t.TempDir()
	bare, work := filepath.Join(dir, "clusters.git"), filepath.Join(dir, "work")
	git := func(args ...string) (string, error) {
		cmd := s.Command(t.Context(), append([]string{"git", "-c", "user.name=lab", "-c", "user.email=lab@example.org"}, args...)...)
		if _, err := os.Stat(work); err == nil {
			cmd.Dir = work
		}
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "XDG_STATE_HOME="+s.State)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(args ...string) {
		t.Helper()
		if out, err := git(args...); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	push := func(message string, files map[string]string) (terminal string, err error) {
		t.Helper()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		must("add", "-A")
		must("commit", "-q", "-m", message)
		return git("push", bare, "main")
	}
	must("init", "-q", "--bare", "-b", "main", bare)
	must("init", "-q", "-b", "main", work)
	if out, err := s.Command(t.Context(), harness.Binary(t), "ci", "init", "--hooks", "--repository", bare).CombinedOutput(); err != nil {
		t.Fatalf("deployer ci init: %v\n%s", err, out)
	}
	inventory, err := os.ReadFile(s.Inventory)
	if err != nil {
		t.Fatal(err)
	}

	terminal, err := push("message of the day", map[string]string{
		"inventory.yaml":   string(inventory),
		"deployer.ci.yaml": "environments:\n  production:\n    inventories: [inventory.yaml]\n    playbooks: [{file: motd.yaml}]\n",
		"motd.yaml":        "- name: message of the day\n  hosts: n2\n  tasks:\n    - {name: write it, copy: {content: pushed, dest: /etc/motd}}\n",
	})
	if err != nil {
		t.Fatalf("the push was refused: %v\n%s", err, terminal)
	}
	s.RequireTexts(terminal, "+ deployer run motd.yaml", "+ deployer verify", "deployed")
	if got := s.Shell("n2", "cat /etc/motd"); got != "pushed" {
		t.Errorf("/etc/motd of n2 is %q", got)
	}

	one := s.On(t)
	one.Inventory = filepath.Join(dir, "one-master.yaml")
	if err := os.WriteFile(one.Inventory, inventory, 0o600); err != nil {
		t.Fatal(err)
	}
	one.Edit(func(inv map[string]any) {
		inv["roles"].(map[string]any)["master"] = []any{"m1"}
	})
	broken, err := os.ReadFile(one.Inventory)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = push("one master", map[string]string{"inventory.yaml": string(broken)})
	if err == nil {
		t.Error("a push that loses the quorum was accepted")
	}
	s.RequireTexts(terminal, "refused: inventory.yaml:", "quorum: etcd would lose its quorum: m[2:3]")
	if members := s.Kubectl("m1", "get nodes -o name"); strings.Count(members, "node/") != 5 {
		t.Errorf("after the refused push the nodes are %s", members)
	}
}
