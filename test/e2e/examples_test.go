//go:build lab

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/test/harness"
)

// exampleSite checks that every host serves its own page, which names the others.
func exampleSite(s *site) {
	s.runTwice("run", example("nginx-site"))
	for _, h := range webHosts {
		page, err := s.Ctl(s.T.Context(), "curl", "-sS", "--fail-with-body", "--max-time", "10", "http://"+s.Address(h)+":8080/")
		if err != nil {
			s.T.Errorf("%s: %v\n%s", h, err, page)
		}
		s.RequireTexts(page, "example on "+h)
		for _, other := range webHosts {
			if other != h {
				s.RequireTexts(page, other+" ")
			}
		}
		if got := s.Shell(h, "systemctl is-enabled nginx; ls /etc/nginx/sites-enabled"); got != "enabled" {
			s.T.Errorf("%s: %q, want nginx enabled and no other site", h, got)
		}
	}
}

// exampleUsers checks that users log in with their own key only, have only the rights of
// their sudo rule, and that removed users are gone.
func exampleUsers(s *site) {
	s.Shell("h2", "useradd --create-home mallory")
	s.runTwice("run", example("users"))
	keys := map[string]string{"alice": s.newPair(), "bob": s.newPair()}
	var people []any
	for _, name := range []string{"alice", "bob"} {
		public, err := os.ReadFile(keys[name] + ".pub")
		if err != nil {
			s.T.Fatal(err)
		}
		people = append(people, map[string]any{"name": name, "groups": []any{"operators"}, "keys": []any{string(public)}})
	}
	vars, err := json.Marshal(map[string]any{"people": people})
	if err != nil {
		s.T.Fatal(err)
	}
	s.runTwice("run", example("users"), "--extra-vars", string(vars))

	login := func(user, key, command string) (string, error) {
		return s.Ctl(s.T.Context(), "ssh", "-n", "-F", "none", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
			"-o", "UserKnownHostsFile="+s.Files.KnownHosts(), "-i", key, user+"@"+s.Address("h2"), command)
	}
	for name, key := range keys {
		out, err := login(name, key, "id -un; id -Gn; sudo -n /usr/bin/systemctl restart nginx.service && echo restarted; sudo -n /usr/bin/id 2>/dev/null || echo no more than that")
		if want := fmt.Sprintf("%[1]s\n%[1]s operators\nrestarted\nno more than that", name); err != nil || strings.TrimSpace(out) != want {
			s.T.Errorf("%s logs in: %v, %q; want %q", name, err, out, want)
		}
	}
	for user, key := range map[string]string{"alice": keys["bob"], "bob": keys["alice"], "mallory": keys["alice"]} {
		if out, err := login(user, key, "id"); err == nil {
			s.T.Errorf("%s logs in with a key that is not theirs: %s", user, out)
		}
	}
	if got := s.Shell("h2", "cat /home/alice/.ssh/authorized_keys; getent passwd mallory || true"); strings.Contains(got, "example.com") || strings.Contains(got, "mallory") {
		s.T.Errorf("keys of the run before, or who has left:\n%s", got)
	}
}

// newPair writes a pair of keys and returns the path of the private one.
func (s *site) newPair() string {
	s.T.Helper()
	path := filepath.Join(s.T.TempDir(), "key")
	if out, err := s.Ctl(s.T.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path); err != nil {
		s.T.Fatalf("%v: %s", err, out)
	}
	return path
}

// exampleCanary checks that a bad value reaches one host and is restored there while the
// page stays available, and that a good value reaches all hosts.
func exampleCanary(s *site) {
	before := s.Digests("/etc/nginx/conf.d/example.conf", webHosts)
	visited := s.pollPage(8080)
	o := s.Deployer("run", example("canary"), "-e", "root=/srv/nowhere")
	if o.Code != 6 {
		s.T.Errorf("exit %d, want 6\n%s", o.Code, o.All())
	}
	s.RequireTexts(o.All(), "FAILED", `at "the site answers with this host's page"`, "404", "it was restored", "2 other hosts were not changed", "deployer resume")
	if diff := cmp.Diff(before, s.Digests("/etc/nginx/conf.d/example.conf", webHosts)); diff != "" {
		s.T.Errorf("configuration (- before, + after): %s", diff)
	}
	o = s.Deployer("run", example("canary"), "-e", "root=/srv/nowhere", "--no-restore")
	if o.Code != 1 {
		s.T.Errorf("--no-restore: exit %d, want 1\n%s", o.Code, o.All())
	}
	broken := 0
	for host, sum := range s.Digests("/etc/nginx/conf.d/example.conf", webHosts) {
		if sum != before[host] {
			broken++
		}
	}
	if broken != 1 {
		s.T.Errorf("--no-restore left %d hosts with the bad value, want 1", broken)
	}
	s.runTwice("run", example("canary"))
	visited()
	s.inRotation(webHosts...)
}

// exampleRolloutInSteps checks that a bad value is restored on its canary, which is in
// rotation again, that a pause leaves the other hosts as they are, and that the resumed run
// changes them, one after the other in the steps of the command line.
func exampleRolloutInSteps(s *site) {
	before := s.Digests("/etc/nginx/conf.d/example.conf", webHosts)
	changed := func() int {
		n := 0
		for host, sum := range s.Digests("/etc/nginx/conf.d/example.conf", webHosts) {
			if sum != before[host] {
				n++
			}
		}
		return n
	}
	announced := filepath.Join(s.T.TempDir(), "announced")
	announce := filepath.Join(s.T.TempDir(), "announce")
	if err := os.WriteFile(announce, []byte("#!/bin/sh\necho \"$@\" >> "+announced+"\n"), 0o755); err != nil {
		s.T.Fatal(err)
	}
	visited := s.pollPage(8080)
	o := s.Deployer("run", example("rollout-in-steps"), "-e", "root=/srv/nowhere")
	s.RequireExit(o, 6)
	s.RequireTexts(o.All(), `at "the site answers with this host's page"`, "it was restored", "2 other hosts were not changed")
	if n := changed(); n != 0 {
		s.T.Errorf("the bad value is on %d hosts after the restore", n)
	}
	s.inRotation(webHosts...)

	s.Shell("h1", "cp -r /srv/example /srv/moved")
	s.Shell("h2", "cp -r /srv/example /srv/moved")
	s.Shell("h3", "cp -r /srv/example /srv/moved")
	vars, err := json.Marshal(map[string]any{"root": "/srv/moved", "soak": "1s", "pause": true, "announce": announce,
		"steps": []any{map[string]any{"hosts": "h3"}, map[string]any{"hosts": "h1"}, map[string]any{"hosts": "h2"}}})
	if err != nil {
		s.T.Fatal(err)
	}
	o = s.Deployer("run", example("rollout-in-steps"), "--extra-vars", string(vars))
	s.RequireExit(o, 130)
	s.RequireTexts(o.All(), "pauses after its canaries", "deployer resume")
	if n := changed(); n != 1 {
		s.T.Errorf("%d hosts are changed during the pause, want 1", n)
	}
	s.Must("resume")
	if n := changed(); n != len(webHosts) {
		s.T.Errorf("%d hosts are changed after the resumed run, want all", n)
	}
	visited()
	s.inRotation(webHosts...)
	lines, err := os.ReadFile(announced)
	if want := "h3 leaves\nh3 returns\nh1 leaves\nh1 returns\nh2 leaves\nh2 returns\n"; err != nil || string(lines) != want {
		s.T.Errorf("%v; announced %q, want %q", err, lines, want)
	}
	s.runTwice("run", example("rollout-in-steps"), "-e", "soak=1s")
}

// exampleRollingRestart checks that hosts leave the rotation, restart and return one
// after the other. A client that tries the next host on an error sees no error.
func exampleRollingRestart(s *site) {
	began := time.Now()
	visited := s.pollPage(8080)
	events, r := s.Events(s.Must("run", example("rolling-restart"), "--output", "json"))
	visited()
	if r.Changed() != 9 {
		s.T.Errorf("changed: %v; want three steps on each host", harness.ChangedSteps(events))
	}
	s.requireOneByOne("nginx.service", began, webHosts...)
	resting := ""
	for _, step := range harness.ChangedSteps(events) {
		host, name, _ := strings.Cut(step, " ")
		switch {
		case resting != "" && resting != host:
			s.T.Fatalf("%s changes while %s is out of rotation: %v", host, resting, harness.ChangedSteps(events))
		case name == "out of rotation":
			resting = host
		case name == "back in rotation":
			resting = ""
		}
	}
	s.inRotation(webHosts...)
}

// pollPage requests the front page until stop is called, from one host after the
// other until one of them answers. It fails the test when none answers.
func (s *site) pollPage(port int) (stop func()) {
	client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DialContext: s.Dial, DisableKeepAlives: true}}
	ask := func(host string) error {
		answer, err := client.Get(fmt.Sprintf("http://%s:%d/", s.Address(host), port))
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s, %w", host, answer.Status, err)
		}
		return nil
	}
	over, ended := make(chan struct{}), make(chan struct{})
	visits, bad := 0, []error(nil)
	go func() {
		defer close(ended)
		for {
			var failures []error
			for _, h := range webHosts {
				if err := ask(h); err != nil {
					failures = append(failures, err)
					continue
				}
				break
			}
			if visits++; len(failures) == len(webHosts) {
				bad = failures
			}
			select {
			case <-over:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() {
		s.T.Helper()
		close(over)
		<-ended
		s.T.Logf("%d visits", visits)
		if bad != nil {
			s.T.Errorf("no host answered a visitor: %v", errors.Join(bad...))
		}
	}
}

// inRotation checks that exactly these hosts report that they are healthy.
func (s *site) inRotation(want ...string) {
	s.T.Helper()
	var healthy []string
	for _, h := range webHosts {
		if out, err := s.Ctl(s.T.Context(), "curl", "-sS", "--fail-with-body", "--max-time", "10", "http://"+s.Address(h)+":8080/health"); err == nil && out == "ok" {
			healthy = append(healthy, h)
		}
	}
	if !slices.Equal(healthy, want) {
		s.T.Errorf("in rotation are %v, want %v", healthy, want)
	}
}

// rollingRestartStops checks that a host that is already out of rotation fails the check
// before its turn, and that neither it nor the next host is restarted.
func rollingRestartStops(s *site) {
	s.Shell("h2", "touch /srv/example/resting")
	began := time.Now()
	o := s.Deployer("run", example("rolling-restart"))
	if o.Code != 1 {
		s.T.Errorf("exit %d, want 1\n%s", o.Code, o.All())
	}
	s.RequireTexts(o.All(), `FAILED`, "h2", "in good health before", "503", "deployer resume")
	s.requireOneByOne("nginx.service", began, "h1")
	s.inRotation("h1", "h3")
	s.Shell("h2", "rm /srv/example/resting")
	s.Must("resume")
	s.requireOneByOne("nginx.service", began, "h1", "h1", "h2", "h3")
	s.inRotation(webHosts...)
}

// failedRestartStops checks that a service that does not start again stops the run before
// the next batch, and that its host keeps its earlier mark.
func failedRestartStops(s *site) {
	s.Shell("h2", "echo 'nonsense;' > /etc/nginx/conf.d/broken.conf")
	o := s.Deployer("run", example("rolling-restart"))
	if o.Code != 1 {
		s.T.Errorf("exit %d, want 1\n%s", o.Code, o.All())
	}
	s.RequireTexts(o.All(), "FAILED", "h2", `"restart"`, "nginx.service")
	s.inRotation("h1", "h3")
	s.Shell("h2", "test ! -e /srv/example/resting; rm /etc/nginx/conf.d/broken.conf; systemctl start nginx")
	s.inRotation(webHosts...)
}
