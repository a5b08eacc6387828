//go:build lab

package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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

	if out := s.must("plan", "run", book).stdout; !strings.Contains(out, "rebooted: h[1:2] (2 hosts)") {
		t.Errorf("the plan does not say who is rebooted:\n%s", out)
	}
	boots := func(host string) int {
		return strings.Count(s.shell(host, "journalctl --list-boots --no-pager --quiet | grep -v IDX"), "\n") + 1
	}
	if n := boots("h1"); n != 1 {
		t.Fatalf("looking has rebooted the host: %d boots", n)
	}

	s.killAtOutput("reboots; waiting", "run", book, "--output", "json")
	again := s.must("resume")
	for _, h := range []string{"h1", "h2"} {
		if n := boots(h); n != 2 {
			t.Errorf("%s has booted %d times, want 2\n%s", h, n, again.all())
		}
		if got := s.shell(h, "cat /root/handled"); got != "done" {
			t.Errorf("%s: the handler of the reboot ran %q", h, got)
		}
	}
	if out := s.deployer("revert", "--yes", s.lastRun().Run); !strings.Contains(out.all(), "reboot (the host)") {
		t.Errorf("revert does not say that a reboot stays:\n%s", out.all())
	}
}

// killAtOutput runs deployer and kills it when its output contains a text.
func (s *site) killAtOutput(said string, args ...string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()
	cmd := s.command(ctx, args...)
	seen := &outputWatcher{text: said, seen: make(chan struct{})}
	cmd.Stdout = seen
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-seen.seen:
	case <-ctx.Done():
	}
	_ = cmd.Process.Kill()
	if err := cmd.Wait(); err == nil || ctx.Err() != nil {
		s.t.Fatalf("deployer never said %q, or was not killed: %v\n%s", said, err, seen.all.String())
	}
}

// outputWatcher closes a channel when its input contains a text.
type outputWatcher struct {
	text string
	all  bytes.Buffer
	once sync.Once
	seen chan struct{}
}

// Write implements io.Writer.
func (s *outputWatcher) Write(p []byte) (int, error) {
	s.all.Write(p)
	if strings.Contains(s.all.String(), s.text) {
		s.once.Do(func() { close(s.seen) })
	}
	return len(p), nil
}
