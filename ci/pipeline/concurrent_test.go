package pipeline_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/ci/pipeline"
	"deployer/ci/report"
)

// watchedOutput keeps the written text and closes seen when it contains the awaited
// text. It is safe for concurrent use.
type watchedOutput struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	seen chan struct{}
}

func watchFor(text string) *watchedOutput {
	return &watchedOutput{text: text, seen: make(chan struct{})}
}

// Write implements io.Writer.
func (w *watchedOutput) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := strings.Contains(w.all.String(), w.text)
	w.all.Write(p)
	if !before && strings.Contains(w.all.String(), w.text) {
		close(w.seen)
	}
	return len(p), nil
}

// String returns the written text.
func (w *watchedOutput) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// waitLimit ends a test whose condition does not come.
const waitLimit = 2 * time.Minute

func (w *watchedOutput) wait(t *testing.T) {
	t.Helper()
	select {
	case <-w.seen:
	case <-time.After(waitLimit):
		t.Fatalf("the output lacks %q:\n%s", w.text, w.String())
	}
}

// outcome is the result of a pipeline that runs in another goroutine.
type outcome struct {
	run *report.Run
	err error
}

func (s *site) start(ctx context.Context, o pipeline.Options) <-chan outcome {
	s.t.Helper()
	p, err := pipeline.Open(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := p.Run(ctx)
		done <- outcome{r, err}
	}()
	return done
}

func (s *site) end(done <-chan outcome) outcome {
	s.t.Helper()
	select {
	case got := <-done:
		return got
	case <-time.After(waitLimit):
		s.t.Fatal("the run does not end")
		return outcome{}
	}
}

// TestWaitingPushIsDeployed: the first run removes checkouts that no cluster needs
// when it ends, and the push that waits for it has its own checkout. A comparison
// that waits does not supersede it.
func TestWaitingPushIsDeployed(t *testing.T) {
	const block = `
stages:
  block: {command: [sh, -c, 'echo blocked; while [ ! -e "$FAKE_DIR/go" ]; do sleep 0.05; done']}
  deploy: {uses: deploy, environment: production}
  verify: {uses: verify, environment: production}
`
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n1"), "deployer.ci.yaml": block})
	o := s.options()
	blocked := watchFor("blocked\n")
	o.Out = blocked
	first := s.start(t.Context(), o)
	blocked.wait(t)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:2]")})
	o = s.options()
	waiting := watchFor("waiting for its end")
	o.Out = waiting
	second := s.start(t.Context(), o)
	waiting.wait(t)
	o = s.options()
	driftWaits := watchFor("waiting for its end")
	o.Out = driftWaits
	p, err := pipeline.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	drift := make(chan outcome, 1)
	go func() {
		r, _, err := p.Drift(t.Context())
		drift <- outcome{r, err}
	}()
	driftWaits.wait(t)
	s.write(filepath.Join(s.fake, "go"), "")
	if got := s.end(first); got.err != nil || got.run.Outcome != report.Deployed {
		t.Errorf("the first run: %+v, %v\n%s", got.run, got.err, blocked)
	}
	if got := s.end(second); got.err != nil || got.run.Outcome != report.Deployed {
		t.Errorf("the waiting run: %+v, %v\n%s", got.run, got.err, waiting)
	}
	if got := s.end(drift); got.err != nil || got.run.Outcome != report.Passed {
		t.Errorf("the comparison: %+v, %v\n%s", got.run, got.err, driftWaits)
	}
	calls := slices.DeleteFunc(s.calls(), func(call string) bool { return strings.HasPrefix(call, "apply --check ") }) // before the second run, or after it
	if want := []string{"apply --yes @a", "verify @a", "scale-up n2 @b", "verify @b"}; !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
}

// TestInterruptEndsProcessesOfACommand: a command has started a process that has its output
// and ignores SIGTERM.
func TestInterruptEndsProcessesOfACommand(t *testing.T) {
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n1"), "deployer.ci.yaml": `
stages:
  test: {command: [sh, -c, 'sh -c "trap \"\" TERM; while [ ! -e \"$FAKE_DIR/end\" ]; do sleep 0.05; done" & echo started; wait']}
`})
	t.Cleanup(func() { _ = os.WriteFile(filepath.Join(s.fake, "end"), nil, 0o600) })
	o := s.options()
	started := watchFor("started\n")
	o.Out = started
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := s.start(ctx, o)
	started.wait(t)
	cancel()
	if got := s.end(done); got.err != nil || got.run.Outcome != report.Interrupted {
		t.Errorf("the run: %+v, %v\n%s", got.run, got.err, started)
	}
}

// TestSecondInterruptStopsAtOnce: a step of deployer ends only at its second signal,
// as the real deployer does, and a command of a stage ignores SIGTERM. The next run
// continues the deploy.
func TestSecondInterruptStopsAtOnce(t *testing.T) {
	const waits = `while [ ! -e "$FAKE_DIR/end" ]; do sleep 0.05; done`
	for name, c := range map[string]struct {
		stages, deployer string
		next             []string
	}{
		"deployer": {"", `n=0; trap 'n=$((n+1)); echo "signal $n"; [ $n = 2 ] && exit 1' TERM; echo started; ` + waits, []string{"resume --yes @a", "apply --yes @a", "verify @a"}},
		"command":  {"stages:\n  test: {command: [sh, -c, 'trap \"\" TERM; echo started; " + strings.ReplaceAll(waits, `"`, `\"`) + "']}\n", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n1"), "deployer.ci.yaml": "environments: {production: {inventories: [inventory.yaml]}}\n" + c.stages})
			t.Cleanup(func() { _ = os.WriteFile(filepath.Join(s.fake, "end"), nil, 0o600) })
			program := filepath.Join(s.fake, "deployer")
			if c.deployer != "" {
				slow := strings.Replace(fakeDeployer, "#!/bin/sh\n", "#!/bin/sh\n[ \"$1\" = apply ] && [ ! -e \"$FAKE_DIR/end\" ] && { "+c.deployer+"; }\n", 1)
				s.write(program, slow)
			}
			o := s.options()
			started, first := watchFor("started\n"), watchFor("signal 1\n")
			o.Out = io.MultiWriter(started, first)
			stop := make(chan struct{})
			o.Stop = stop
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := s.start(ctx, o)
			started.wait(t)
			cancel()
			if c.deployer != "" {
				first.wait(t)
			}
			close(stop)
			if got := s.end(done); got.err != nil || got.run.Outcome != report.Interrupted {
				t.Fatalf("the run: %+v, %v\n%s", got.run, got.err, started)
			}
			if c.next == nil {
				return
			}
			s.write(filepath.Join(s.fake, "end"), "")
			s.calls()
			r, _ := s.run(s.options())
			s.requireOutcome(r, report.Deployed)
			s.requireCalls(c.next...)
		})
	}
}

// TestInterruptedRollback: a rollback and a comparison that a signal ends are
// interrupted and have not failed.
func TestInterruptedRollback(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
	s.write(filepath.Join(s.fake, "fail scale-up"), "1")
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Failed)
	s.write(filepath.Join(s.fake, "fail apply"), "130")
	s.write(filepath.Join(s.fake, "fail scale-down"), "130")
	s.write(filepath.Join(s.fake, "fail resume"), "130")
	p, err := pipeline.Open(t.Context(), s.options())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(t.Context())
	drift, _, err := p.Drift(t.Context())
	if err != nil || drift.Outcome != report.Interrupted {
		t.Errorf("the comparison: %+v, %v", drift, err)
	}
	r, err = p.Rollback(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	s.requireOutcome(r, report.Interrupted)
}
