package main

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"deployer/test/fleet"
)

// maintained is a playbook whose pre_tasks leave a mark that its post_tasks remove.
const maintained = `- hosts: all
  vars: {careful: false, port: 80}
  tasks:
    - {name: directory, directory: {paths: [/srv]}}
    - name: site
      rollout: {max_parallel: 1, pause: careful}
      pre_tasks:
        - {name: mark, file: {path: /srv/maintenance, content: "on\n"}}
      block:
        - {name: configuration, file: {path: /srv/site.conf, content: "port {{ port }}\n"}}
        - {name: second file, file: {path: /srv/site.port, content: "{{ port }}\n"}}
      post_tasks:
        - {name: unmark, absent: {paths: [/srv/maintenance]}}
`

// TestRolloutPostTasksAfterKill checks that a mark of pre_tasks does not outlive a run that
// was killed at any step, whether the run is resumed or reverted.
func TestRolloutPostTasksAfterKill(t *testing.T) {
	for _, at := range []string{"mark", "configuration", "second file"} {
		for _, then := range []string{"resume", "revert"} {
			t.Run(at+", "+then, func(t *testing.T) {
				// The run that is killed must not reach its end before.
				var hold atomic.Bool
				killed := make(chan struct{})
				s := newTestSiteWith(t, 1, fleet.Options{Before: func(_ context.Context, _ *fleet.Host, module string) {
					if module == "absent" && hold.Load() {
						<-killed
					}
				}}, map[string]string{"site.yaml": maintained})
				s.deployer(exitOK, "run", "site.yaml")
				hold.Store(true)
				s.kill([]string{`"step.end"`, `"name":"` + at + `"`}, "run", "site.yaml", "-e", "port=81")
				close(killed)
				want := "port 81\n"
				if then == "resume" {
					s.deployer(exitOK, "resume")
				} else {
					want = "port 80\n"
					s.deployer(exitOK, "revert", s.runs()[0].Header.Run, "--yes")
				}
				if conf, mark := s.hostFile(0, "srv/site.conf"), s.hostFile(0, "srv/maintenance"); conf != want || mark != "-" {
					t.Errorf("the configuration is %q, the mark %q", conf, mark)
				}
			})
		}
	}
}

// TestRolloutPauseAndResume checks the commands around a pause.
func TestRolloutPauseAndResume(t *testing.T) {
	s := newTestSite(t, 3, map[string]string{"site.yaml": maintained})
	out, _ := s.deployer(exitInterrupted, "run", "site.yaml", "-e", "careful=true")
	requireTexts(t, out, `the rollout of "site" pauses after its canaries`, "deployer resume", "interrupted")
	changed := 0
	for i := range 3 {
		if s.hostFile(i, "srv/site.conf") != "-" {
			changed++
		}
	}
	if changed != 1 {
		t.Errorf("%d hosts were changed, want the canary alone", changed)
	}
	shown, _ := s.deployer(exitOK, "runs", "show", s.runs()[0].Header.Run)
	requireTexts(t, shown, `the rollout of "site" pauses after its canaries`)
	s.deployer(exitOK, "resume")
	for i := range 3 {
		if got := s.hostFile(i, "srv/site.conf") + s.hostFile(i, "srv/maintenance"); got != "port 80\n-" {
			t.Errorf("host %d has %q", i, got)
		}
	}
}

// TestRolloutPreTasksFail checks the texts of the summary and of runs show about a
// host whose pre_tasks fail.
func TestRolloutPreTasksFail(t *testing.T) {
	s := newTestSite(t, 2, map[string]string{"site.yaml": maintained})
	s.writeHostFile(0, "srv/maintenance/file", "a directory is in the way")
	s.writeHostFile(1, "srv/maintenance/file", "a directory is in the way")
	out, _ := s.deployer(exitRestored, "run", "site.yaml")
	requireTexts(t, out, `at "mark"`, "its change was not begun", `failed at "mark" in pre_tasks; its change was not begun; 1 other host was not changed by it`)
	shown, _ := s.deployer(exitOK, "runs", "show", s.runs()[0].Header.Run)
	requireTexts(t, shown, `at "mark"`, "its change was not begun")
}

// TestResumeTakesNoFailedCanary checks that a resumed run does not begin with a host that
// failed before: as a canary it would stop the rollout again.
func TestResumeTakesNoFailedCanary(t *testing.T) {
	var first atomic.Value // the host whose preview ends first
	first.Store("n001")
	killed, failing := make(chan struct{}), make(chan struct{})
	var reached sync.Once
	s := newTestSiteWith(t, 6, fleet.Options{Before: func(_ context.Context, h *fleet.Host, module string) {
		if module == "wait_for" && h.Name == "n002" {
			reached.Do(func() { close(failing) })
		}
		if module == "file" && h.Name >= "n003" {
			<-failing // n002 fails before n004 has its turn
		}
		if module == "wait_for" && h.Name >= "n005" {
			<-killed
		}
		if module == "file" && h.Name != first.Load() {
			time.Sleep(500 * time.Millisecond)
		}
	}}, map[string]string{"site.yaml": `- hosts: all
  tasks:
    - name: site
      rollout: {canary: [all], max_parallel: 1, max_fail: 1}
      block:
        - {name: configuration, file: {path: /srv.conf, content: "new\n"}}
        - {name: works, wait_for: {path: /srv.conf, search_regex: "old|{{ works_with }}", timeout: 300ms}}
`})
	s.site.MaxFail = map[string]string{"all": "1"}
	s.site.Vars = map[string]any{"works_with": "new"}
	s.site.HostVars = map[string]map[string]any{"n002": {"works_with": "nothing else"}}
	s.writeInventory()
	for i := range 6 {
		s.writeHostFile(i, "srv.conf", "old\n")
	}
	s.kill([]string{`"step.end"`, `"n004"`, `"configuration"`}, "run", "site.yaml")
	first.Store("n002")
	close(killed)
	s.deployer(exitPartial, "resume")
	for i, want := range []string{"new\n", "old\n", "new\n", "new\n", "new\n", "new\n"} {
		if got := s.hostFile(i, "srv.conf"); got != want {
			t.Errorf("host %d has %q, want %q", i, got, want)
		}
	}
}
