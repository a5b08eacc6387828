//go:build lab

package lifecycle

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maintenance drains a node, reboots it and uncordons it.
const maintenance = `
- name: maintenance
  hosts: n1
  tasks:
    - name: one node
      block:
        - {name: move its pods elsewhere, kube_drain: {timeout: 90s}}
        - {name: reboot, reboot: {test_command: systemctl is-system-running --wait, reboot_timeout: 3m}}
        - {name: its kubelet, shell: {cmd: "until systemctl is-active kubelet; do sleep 0.2; done", read_only: true}}
      always:
        - {name: take pods again, kube_uncordon: {timeout: 60s}}
`

// drainAndReboot drains a node whose application has a PodDisruptionBudget, reboots it,
// and uncordons it.
func drainAndReboot(s *site) {
	watching, stop := context.WithCancel(s.T.Context())
	var watcher sync.WaitGroup
	watcher.Go(func() { s.Watch(watching, func(text string) { s.T.Log(text) }) })
	defer func() { stop(); watcher.Wait() }()
	s.DeployWeb()
	s.MoveWeb("n1")
	book := filepath.Join(s.T.TempDir(), "maintenance.yaml")
	if err := os.WriteFile(book, []byte(maintenance), 0o600); err != nil {
		s.T.Fatal(err)
	}
	s.Must("run", book)
	if on := s.WebPodsOn("n1"); on != "" {
		s.T.Errorf("on n1 there are still %s", on)
	}
	s.RequireSchedulable("n1", "after the work")
	s.RequireReady(nodes)
	s.RemoveWeb()
	s.Must("verify")
}

// allHostsOff cuts the power of all hosts at once and switches them on again: the
// cluster recovers without deployer, and install changes nothing.
func allHostsOff(s *site) {
	for _, h := range nodes {
		if err := s.Kill(s.T.Context(), h); err != nil {
			s.T.Fatal(err)
		}
	}
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, h := range nodes {
		all.Go(func() { errs[i] = s.Start(s.T.Context(), h) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		s.T.Fatal(err)
	}
	began := time.Now()
	s.Eventually(3*time.Minute, "all nodes are Ready", s.ready)
	s.T.Logf("all nodes are Ready %.0f s after their hosts had booted", time.Since(began).Seconds())
	s.Eventually(2*time.Minute, "verify passes", func() error {
		if o := s.Deployer("verify"); o.Code != 0 {
			return errors.New(o.All())
		}
		return nil
	})
	s.unchanged("after all hosts were off")
}
