//go:build lab

package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

const rebootTwo = `
- hosts: all
  tasks:
    - name: reboot
      reboot: {test_command: systemctl is-system-running --wait, reboot_timeout: 3m}
      throttle: 1
      notify: after it
    - {name: after, command: {cmd: cat /proc/sys/kernel/random/boot_id, read_only: true}, register: after}
    - {name: old facts, fail: {msg: the facts are of the old boot}, when: after.stdout != facts.boot_id}
  handlers:
    - {name: after it, shell: echo done >> /root/handled}
`

// TestReboot reboots real hosts: the run continues after the reboot, and a killed run
// does not reboot a host twice when it is resumed.
func TestReboot(t *testing.T) {
	s := newSite(t, plan.Spec{Hosts: 2})
	watching, stop := context.WithCancel(t.Context())
	var watcher sync.WaitGroup
	watcher.Go(func() { s.Watch(watching, func(text string) { t.Log(text) }) })
	t.Cleanup(func() { stop(); watcher.Wait() })
	book := filepath.Join(t.TempDir(), "reboot.yaml")
	if err := os.WriteFile(book, []byte(rebootTwo), 0o600); err != nil {
		t.Fatal(err)
	}

	if out := s.Must("plan", "run", book).Stdout; !strings.Contains(out, "rebooted: h[1:2] (2 hosts)") {
		t.Errorf("the plan does not say who is rebooted:\n%s", out)
	}
	boots := func(host string) int {
		return strings.Count(s.Shell(host, "journalctl --list-boots --no-pager --quiet | grep -v IDX"), "\n") + 1
	}
	if n := boots("h1"); n != 1 {
		t.Fatalf("looking has rebooted the host: %d boots", n)
	}

	s.KillAtOutput("reboots; waiting", "run", book, "--output", "json")
	// A host of the killed run may still boot for longer than a run tries to connect.
	var again harness.Outcome
	s.Eventually(2*time.Minute, "deployer resume completes the run", func() error {
		if again = s.Deployer("resume"); again.Code != 0 {
			return errors.New(again.All())
		}
		return nil
	})
	for _, h := range []string{"h1", "h2"} {
		if n := boots(h); n != 2 {
			t.Errorf("%s has booted %d times, want 2\n%s", h, n, again.All())
		}
		if got := s.Shell(h, "cat /root/handled"); got != "done" {
			t.Errorf("%s: the handler of the reboot ran %q", h, got)
		}
	}
	if out := s.Deployer("revert", "--yes", s.LastRun().Run); !strings.Contains(out.All(), "reboot (the host)") {
		t.Errorf("revert does not say that a reboot stays:\n%s", out.All())
	}
}
