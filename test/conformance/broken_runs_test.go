//go:build lab

package conformance

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"deployer/test/harness"
)

// Exit codes of deployer.
const (
	failed      = 1
	problems    = 5
	interrupted = 130
)

// quick selects a test that takes less than a second, and slow one of more than half a minute.
const (
	quick = "Ingress API should support creating Ingress API operations"
	slow  = "Services should be able to switch session affinity for NodePort service"
)

// brokenRuns checks the outcomes of runs that cannot pass: no test is selected, a test fails, the user
// interrupts, the controller is killed, another run lives. A master without network for a while, and tests in
// parallel, are no reason to fail.
func brokenRuns(s *harness.Site) {
	s.T.Helper()
	run := func(args ...string) harness.Outcome {
		return s.Deployer(append([]string{"verify", "--conformance", "--yes", "--results", s.T.TempDir()}, args...)...)
	}
	o := run("--focus", "no such test")
	s.RequireExit(o, failed)
	s.RequireTexts(o.All(), `no test is selected by --focus "no such test"`)
	requireNothingLeft(s)

	policy := `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: closed}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [networking.k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [ingresses]}]}
  validations: [{expression: "false", message: "no further routes here"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: closed}
spec: {policyName: closed, validationActions: [Deny]}
`
	s.Shell("m1", "kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f - <<'EOF'\n"+policy+"EOF")
	s.Eventually(time.Minute, "the API server refuses an Ingress", func() error {
		_, err := s.SSH(s.T.Context(), "m1", `echo '{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}, spec: {defaultBackend: {service: {name: a, port: {number: 80}}}}}' | kubectl --kubeconfig /etc/kubernetes/admin.conf create --dry-run=server -f -`)
		if err == nil {
			return errors.New("it does not")
		}
		return nil
	})
	o = run("--focus", quick)
	s.RequireExit(o, problems)
	s.RequireTexts(o.Stdout, "FAIL  [sig-network] "+quick, "no further routes here", "conformance tests: 1 of 1 failed in ")
	s.RequireTexts(o.Stderr, "failed: [sig-network] "+quick)
	s.Kubectl("m1", "delete validatingadmissionpolicybinding,validatingadmissionpolicy closed")
	requireNothingLeft(s)

	// The tests have begun when their pod serves; an interrupt then removes the test's objects, too.
	live := start(s, "--focus", slow)
	live.until("0 of 1 tests")
	s.Eventually(time.Minute, "the test has begun", func() error {
		if testNamespaces(s) == "" {
			return errors.New("it has no namespace")
		}
		return nil
	})
	other := run("--focus", quick)
	s.RequireExit(other, failed)
	s.RequireTexts(other.All(), "another run of the conformance tests uses namespace deployer-conformance")
	live.signal(os.Interrupt)
	if code := live.wait(); code != interrupted {
		s.T.Errorf("interrupted: exit %d\n%s", code, live.output())
	}
	requireNothingLeft(s)
	s.Eventually(time.Minute, "the namespaces of tests are gone", func() error {
		if left := testNamespaces(s); left != "" {
			return errors.New("left are " + left)
		}
		return nil
	})

	// The master, and with it the only API server, has no network for a while. Tests wait for minutes.
	away := start(s, "--focus", slow)
	away.until("0 of 1 tests")
	for _, change := range []func(context.Context, string) error{s.Partition, s.Heal} {
		if err := change(s.T.Context(), "m1"); err != nil {
			s.T.Fatal(err)
		}
		time.Sleep(40 * time.Second)
	}
	if code := away.wait(); code != 0 || !strings.Contains(away.output(), "conformance tests: 1 passed") {
		s.T.Errorf("a master without network: exit %d\n%s", code, away.output())
	}
	requireNothingLeft(s)

	o = run("--parallel", "2", "--focus", `\[sig-network\] (Ingress API|IngressClass API|ServiceCIDR).*\[Conformance\]`)
	s.RequireExit(o, 0)
	s.RequireTexts(o.Stdout, "conformance tests: 4 passed")

	killed := start(s, "--focus", slow)
	killed.until("0 of 1 tests")
	killed.signal(syscall.SIGKILL)
	killed.wait()
	again := run("--focus", quick)
	s.RequireExit(again, 0)
	s.RequireTexts(again.All(), "removing the objects of a former run", "conformance tests: 1 passed")
	requireNothingLeft(s)
}

// testNamespaces returns the namespaces of tests.
func testNamespaces(s *harness.Site) string {
	return strings.TrimSpace(s.Kubectl("m1", "get namespaces -l e2e-run -o name"))
}

// process is a deployer that runs in the background.
type process struct {
	s    *harness.Site
	done chan int
	stop func(os.Signal) error

	mu  sync.Mutex
	out bytes.Buffer
}

// Write implements io.Writer.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func start(s *harness.Site, args ...string) *process {
	s.T.Helper()
	p := &process{s: s, done: make(chan int, 1)}
	cmd := s.DeployerCommand(s.T.Context(), append([]string{"verify", "--conformance", "--yes", "--results", s.T.TempDir()}, args...)...)
	cmd.Stdout, cmd.Stderr = p, p
	if err := cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	p.stop = cmd.Process.Signal
	go func() {
		_ = cmd.Wait()
		p.done <- cmd.ProcessState.ExitCode()
	}()
	return p
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// until waits until the output has a text.
func (p *process) until(text string) {
	p.s.T.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !strings.Contains(p.output(), text); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.s.T.Fatalf("deployer never said %q:\n%s", text, p.output())
		}
	}
}

func (p *process) signal(signal os.Signal) {
	p.s.T.Helper()
	if err := p.stop(signal); err != nil {
		p.s.T.Fatal(err)
	}
}

func (p *process) wait() int {
	p.s.T.Helper()
	select {
	case code := <-p.done:
		return code
	case <-time.After(5 * time.Minute):
		p.s.T.Fatalf("deployer does not end:\n%s", p.output())
		return 0
	}
}
