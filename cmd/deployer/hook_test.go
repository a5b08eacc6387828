package main

import (
	"os"
	"strings"
	"testing"
)

// pooled is a playbook whose hosts leave a pool before their change and return to it after.
const pooled = `- hosts: all
  vars: {refuse: none}
  tasks:
    - {name: directory, directory: {paths: [/srv]}}
    - name: site
      rollout: {canary: [], max_parallel: 1, max_fail: 1}
      pre_tasks:
        - name: leave the pool
          hook: {command: [sh, -c, 'test $DEPLOYER_HOST != {{ refuse }} && echo $DEPLOYER_HOST leaves >> pool.log || { echo pool is too small >&2; exit 1; }']}
      block:
        - {name: configuration, file: {path: /srv/site.conf, content: "on\n"}}
      post_tasks:
        - name: return to the pool
          hook: {command: [sh, -c, 'echo $DEPLOYER_HOST returns >> pool.log']}
`

// TestHookAroundARollout checks the order of hooks, that check mode runs none, and
// that a host whose hook fails stays unchanged while the others are changed.
func TestHookAroundARollout(t *testing.T) {
	s := newTestSite(t, 3, map[string]string{"site.yaml": pooled})
	checked, _ := s.deployer(exitOK, "run", "site.yaml", "--check", "-v")
	requireTexts(t, checked, "leave the pool", "return to the pool")
	if _, err := os.Stat("pool.log"); err == nil {
		t.Error("the check ran a hook")
	}
	out, _ := s.deployer(exitPartial, "run", "site.yaml", "-e", "refuse=n002")
	requireTexts(t, out, "pool is too small", "on the controller: exit code 1", "its change was not begun")
	log, err := os.ReadFile("pool.log")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"n001": "leaves returns", "n002": "returns", "n003": "leaves returns"} {
		var got []string
		for line := range strings.Lines(string(log)) {
			if word, ok := strings.CutPrefix(strings.TrimSpace(line), host+" "); ok {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("the pool saw of %s: %q, want %q", host, got, want)
		}
	}
	for i, state := range []string{"on\n", "-", "on\n"} {
		if got := s.hostFile(i, "srv/site.conf"); got != state {
			t.Errorf("host %d has %q, want %q", i, got, state)
		}
	}
}
