//go:build lab

package e2e

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"deployer/test/lab/plan"
)

// TestKilledInstall interrupts an install once, another one twice, kills deployer
// several times in the middle of an install, and resumes the last one on another
// machine, which finds the run on the masters.
func TestKilledInstall(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 3, Minions: 1})
	interruptInstall(t, s, 2*time.Second)
	interruptTwice(t, s, 3*time.Second, 4*time.Second, 6*time.Second, 8*time.Second)
	for _, after := range []time.Duration{3 * time.Second, 8 * time.Second, 15 * time.Second} {
		cmd := s.DeployerCommand(t.Context(), "install")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		t.Logf("killed after %s: %v", after, err)
	}
	other := s.otherController()
	shown := other.Must("runs", "show", "-i", s.Inventory)
	other.RequireTexts(shown.Stdout, "deployer install", "killed", "found: m1", "to continue, run:")
	other.RequireTexts(other.Must("resume").All(), "resuming run", "found: m1", "install done")
	s.Must("verify")
	if out := s.Shell("m1", "etcdctl --endpoints https://127.0.0.1:2379 --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/etcd/healthcheck-client.crt --key /etc/kubernetes/pki/etcd/healthcheck-client.key member list"); strings.Count(out, "started") != 3 || len(strings.Split(out, "\n")) != 3 {
		t.Errorf("etcd members, want 3 started:\n%s", out)
	}
	_, r := s.Events(s.Must("install", "--output", "json"))
	if r.Changed() != 0 {
		t.Errorf("install after the repaired one: %d changed, want 0", r.Changed())
	}
}

// interruptInstall sends SIGINT to an install: the steps in flight end, and deployer
// prints the command that resumes it.
func interruptInstall(t *testing.T, s *site, after time.Duration) {
	cmd := s.DeployerCommand(t.Context(), "install")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Signal(os.Interrupt) })
	defer timer.Stop()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("interrupted install: exit %d, want 130", code)
	}
	for _, want := range []string{"finishing the steps in flight", "install interrupted", "to continue, run:"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output of the interrupted install does not say %q:\n%s", want, out.String())
		}
	}
}

// interruptTwice sends SIGINT to an install, and a second one while steps are in
// flight: deployer ends at once and names the steps that may be incomplete. When no
// step was in flight at the first SIGINT, it repeats with a later moment.
func interruptTwice(t *testing.T, s *site, moments ...time.Duration) {
	for _, after := range moments {
		cmd := s.DeployerCommand(t.Context(), "install")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		_ = cmd.Process.Signal(os.Interrupt)
		time.Sleep(50 * time.Millisecond) // the kernel would merge two pending signals
		second := time.Now()
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		// The limit is generous: it shows that the command does not wait for anything
		// that could hang.
		if took := time.Since(second); took > 20*time.Second {
			t.Errorf("deployer ended only %s after the second interrupt", took.Round(time.Millisecond))
		}
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("install interrupted twice: exit %d, want 130", code)
		}
		if !strings.Contains(out.String(), "stopped by a second interrupt") {
			t.Logf("the first interrupt, after %s, found nothing in flight:\n%s", after, out.String())
			continue
		}
		s.RequireTexts(out.String(), "the next run repairs them", "to continue, run:")
		return
	}
	t.Errorf("no install was stopped by a second interrupt after %v", moments)
}
