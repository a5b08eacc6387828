//go:build lab

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/test/lab/lab"
	"deployer/test/lab/plan"
)

// TestMain removes labs of killed test processes.
func TestMain(m *testing.M) {
	if _, err := lab.Sweep(context.Background()); err != nil {
		log.Fatalf("removing labs that nobody owns any more: %v", err)
	}
	os.Exit(m.Run())
}

// site is a lab with an inventory, and the deployer binary under test.
type site struct {
	*lab.Lab
	t         *testing.T
	inventory string
	state     string // where deployer keeps its journals
}

// newSite boots hosts for a scenario and removes them at its end.
func newSite(t *testing.T, spec plan.Spec) *site {
	t.Helper()
	// The number keeps runs of several checkouts apart.
	spec.Name = fmt.Sprintf("e2e-%s-%d", strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(strings.TrimPrefix(t.Name(), "Test"))), os.Getpid())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	keep := os.Getenv("DEPLOYER_KEEP_LAB") != ""
	l, err := lab.Up(ctx, spec, lab.Options{Tied: !keep})
	if err != nil {
		t.Fatalf("booting the hosts: %v", err)
	}
	s := &site{Lab: l, t: t}
	t.Cleanup(func() {
		if keep && t.Failed() {
			t.Logf("kept lab %s", l.Name)
			return
		}
		if err := l.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("removing the hosts: %v", err)
		}
	})
	s.inventory = filepath.Join(t.TempDir(), "inventory.yaml")
	s.state = t.TempDir()
	s.edit(func(map[string]any) {})
	return s
}

// on returns the same site for a subtest.
func (s *site) on(t *testing.T) *site {
	part := *s
	part.t = t
	return &part
}

// edit writes the lab's inventory with the changes of f, and uses it from now on.
func (s *site) edit(f func(inv map[string]any)) {
	s.t.Helper()
	from := s.inventory
	if _, err := os.Stat(from); err != nil {
		from = s.Files.Inventory()
	}
	raw, err := os.ReadFile(from)
	if err != nil {
		s.t.Fatal(err)
	}
	var inv map[string]any
	if err := yaml.Unmarshal(raw, &inv); err != nil {
		s.t.Fatal(err)
	}
	f(inv)
	out, err := yaml.Marshal(inv)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.inventory, out, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// section returns a nested map, created if it is missing.
func section(m map[string]any, path ...string) map[string]any {
	for _, key := range path {
		next, ok := m[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[key] = next
		}
		m = next
	}
	return m
}

// outcome is the exit code and the output of a command.
type outcome struct {
	code           int
	stdout, stderr string
}

func (o outcome) all() string { return o.stdout + o.stderr }

// binary returns the path of the deployer under test, which the Makefile builds.
func binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/deployer")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run `make build` first", err)
	}
	return path
}

// command returns a deployer command on the site's inventory, in the network namespace of
// the controller.
func (s *site) command(ctx context.Context, args ...string) *exec.Cmd {
	argv := append([]string{binary(s.t)}, args...)
	if !slices.Contains([]string{"apply", "runs"}, args[0]) {
		argv = slices.Insert(argv, 2, "-i", s.inventory)
	}
	cmd := s.Command(ctx, argv...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+s.state)
	return cmd
}

// deployer runs a deployer command.
func (s *site) deployer(args ...string) outcome {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 8*time.Minute)
	defer cancel()
	cmd := s.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("running deployer %v: %v", args, err)
	}
	s.t.Logf("deployer %s: exit %d in %.1fs", strings.Join(args, " "), cmd.ProcessState.ExitCode(), time.Since(start).Seconds())
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must runs a deployer command and ends the test unless the exit code is 0.
func (s *site) must(args ...string) outcome {
	s.t.Helper()
	o := s.deployer(args...)
	if o.code != 0 {
		s.t.Fatalf("deployer %s: exit %d\n%s", strings.Join(args, " "), o.code, o.all())
	}
	return o
}

// report is the part of the last event of `--output json` that tests read.
type report struct {
	Hosts []struct {
		Host                   string
		OK, Changed, Failed    int
		Failure                *struct{ Message, Detail string }
		FailedStep             string `json:"failed_step"`
		Unreachable, Cancelled bool
	}
	Aborted     string
	Interrupted bool
}

func (r report) changed() (n int) {
	for _, h := range r.Hosts {
		n += h.Changed
	}
	return n
}

// events decodes JSON Lines output.
func (s *site) events(o outcome) (all []map[string]any, last report) {
	s.t.Helper()
	for line := range strings.Lines(o.stdout) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatalf("not a JSON line: %q: %v", line, err)
		}
		all = append(all, e)
		if e["type"] == "run.end" {
			var end struct{ Report report }
			if err := json.Unmarshal([]byte(line), &end); err != nil {
				s.t.Fatal(err)
			}
			last = end.Report
		}
	}
	return all, last
}

// shell runs a line on a host and ends the test when it fails.
func (s *site) shell(host, line string) string {
	s.t.Helper()
	out, err := s.SSH(s.t.Context(), host, line)
	if err != nil {
		s.t.Fatalf("%s: %s: %v\n%s", host, line, err, out)
	}
	return strings.TrimSpace(out)
}

// kubectl runs kubectl on a master.
func (s *site) kubectl(host, args string) string {
	s.t.Helper()
	return s.shell(host, "kubectl --kubeconfig /etc/kubernetes/admin.conf "+args)
}

// eventually polls until f is nil or the time is over.
func (s *site) eventually(limit time.Duration, what string, f func() error) {
	s.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// processes lists the processes of a host with their start times, to show that nothing was
// restarted, without short-lived ones: sshd sessions, test pods of verify and their pause
// containers.
func (s *site) processes(host string) string {
	s.t.Helper()
	return s.shell(host, `for p in /proc/[0-9]*; do read -r comm <$p/comm 2>/dev/null || continue; case $comm in etcd|containerd|kubelet|bird|kube-apiserver|kube-controller|kube-controller-manager|kube-scheduler|kube-proxy|nginx|haproxy|coredns) echo "$comm ${p#/proc/} $(cut -d' ' -f22 $p/stat)";; esac; done | sort`)
}

// address returns the address of a host.
func (s *site) address(host string) string {
	s.t.Helper()
	h, err := s.Host(host)
	if err != nil {
		s.t.Fatal(err)
	}
	return h.Address.String()
}
