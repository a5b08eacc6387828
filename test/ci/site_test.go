//go:build lab

package ci

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/test/harness"
	"deployer/test/lab/lab"
	"deployer/test/lab/plan"
)

// TestMain removes labs of killed test processes.
func TestMain(m *testing.M) {
	harness.SweepLabs()
	os.Exit(m.Run())
}

// gitHost has the bare repository, and runs the pipeline.
const gitHost = "h1"

const repository = "/srv/git/clusters.git"

// site is a lab with a bare repository on one of its hosts, and a clone of it.
type site struct {
	*lab.Lab
	t    *testing.T
	work string // the clone, on this machine

	pushes, deployed, refused, rolledBack, resumed int
}

func newSite(t *testing.T) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	spec := plan.Spec{Name: fmt.Sprintf("ci-%d", os.Getpid()), Masters: 4, Minions: 4, Hosts: 1}
	l, err := lab.Up(ctx, spec, lab.Options{Tied: true, Packages: []string{"git"}})
	if err != nil {
		t.Fatalf("booting the hosts: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("removing the hosts: %v", err)
		}
	})
	s := &site{Lab: l, t: t, work: filepath.Join(t.TempDir(), "work")}
	s.prepareGitHost()
	s.git("init", "-q", "-b", "main", s.work)
	return s
}

// prepareGitHost copies the files of the controller to the git host: deployer, the
// key for the hosts and the artifacts. It creates the repository with the hooks of ci
// init.
func (s *site) prepareGitHost() {
	s.t.Helper()
	s.shell(gitHost, "mkdir -p /etc/deployer /var/lib/artifacts /srv/git")
	s.copy(harness.Binary(s.t), "/usr/local/bin/deployer", "0755")
	s.copy(s.Files.Key(), "/etc/deployer/key", "0600")
	s.copy(s.Files.KnownHosts(), "/etc/deployer/known_hosts", "0644")
	pack := exec.CommandContext(s.t.Context(), "tar", "-C", s.Files.Artifacts(), "-c", ".")
	unpack := s.Command(s.t.Context(), s.SSHArgs(gitHost, "tar -C /var/lib/artifacts -x")...)
	pipe, err := pack.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	unpack.Stdin = pipe
	if err := pack.Start(); err != nil {
		s.t.Fatal(err)
	}
	if out, err := unpack.CombinedOutput(); err != nil {
		s.t.Fatalf("copying artifacts: %v\n%s", err, out)
	}
	if err := pack.Wait(); err != nil {
		s.t.Fatal(err)
	}
	s.shell(gitHost, "git init -q --bare -b main "+repository+" && deployer ci init --hooks --repository "+repository)
}

// copy writes a file of this machine to the git host.
func (s *site) copy(from, to, mode string) {
	s.t.Helper()
	if err := s.Copy(s.t.Context(), gitHost, from, to, mode); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) shell(host, line string) string {
	s.t.Helper()
	out, err := s.SSH(s.t.Context(), host, line)
	if err != nil {
		s.t.Fatalf("%s: %s: %v\n%s", host, line, err, out)
	}
	return out
}

// git runs git on this machine, in the network of the lab.
func (s *site) git(args ...string) (output string, ok bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 40*time.Minute)
	defer cancel()
	cmd := s.Command(ctx, append([]string{"git", "-c", "user.name=lab", "-c", "user.email=lab@example.org"}, args...)...)
	if _, err := os.Stat(s.work); err == nil {
		cmd.Dir = s.work
	}
	cmd.Env = append(os.Environ(), "GIT_SSH_COMMAND=ssh -F "+s.Files.SSHConfig(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err == nil
}

// must runs git like git, and ends the test on an error.
func (s *site) must(args ...string) string {
	s.t.Helper()
	out, ok := s.git(args...)
	if !ok {
		s.t.Fatalf("git %v:\n%s", args, out)
	}
	return out
}

// push commits files and pushes them. It returns the output of git push, with the
// messages of the hooks.
func (s *site) push(message string, files map[string]string) (terminal string, accepted bool) {
	s.t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.work, name), []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	s.must("add", "-A")
	s.must("commit", "-q", "-m", message)
	s.pushes++
	began := time.Now()
	terminal, accepted = s.git("push", gitHost+":"+repository, "main")
	s.t.Logf("push %q: accepted %v in %.0fs\n%s", message, accepted, time.Since(began).Seconds(), terminal)
	return terminal, accepted
}

func (s *site) requireTexts(text string, want ...string) {
	s.t.Helper()
	rest := text
	for _, w := range want {
		i := strings.Index(rest, w)
		if i < 0 {
			s.t.Errorf("the output does not say %q (in this order):\n%s", w, text)
			return
		}
		rest = rest[i+len(w):]
	}
}

// nodes returns the names and kubelet versions of the nodes that a master knows.
func (s *site) nodes(master string) string {
	s.t.Helper()
	return s.shell(master, `kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o 'jsonpath={range .items[*]}{.metadata.name} {.status.nodeInfo.kubeletVersion}{"\n"}{end}'`)
}

// inventory returns an inventory of hosts of the lab.
func (s *site) inventory(name string, masters, minions []string) string {
	s.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "extends: shared.yaml\ncluster: {name: %s}\nhosts:\n", name)
	for _, host := range append(append([]string{}, masters...), minions...) {
		h, err := s.Host(host)
		if err != nil {
			s.t.Fatal(err)
		}
		fmt.Fprintf(&b, "  %s: {address: %s}\n", host, h.Address)
	}
	fmt.Fprintf(&b, "roles:\n  master: [%s]\n  minion: [%s]\n", strings.Join(masters, ", "), strings.Join(minions, ", "))
	return b.String()
}
