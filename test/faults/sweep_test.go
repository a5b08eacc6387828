package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/engine/transport/sshtest"
	"deployer/inventory"
	"deployer/test/fleet"
)

var stride = flag.Int("stride", 9, "break at every n-th place; 1 for all")

func TestMain(m *testing.M) {
	if text := os.Getenv(roleVariable); text != "" {
		play(text)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// testFleet is a small fleet for one disturbed run.
type testFleet struct {
	t         *testing.T
	fleet     *fleet.Fleet
	inventory string // its file
	playbook  string // directory
}

func newTestFleet(t *testing.T, hosts int, playbook string, o fleet.Options) *testFleet {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "faults-")
	if err != nil {
		dir = t.TempDir()
	}
	o.Dir = dir
	f, err := fleet.Start(hosts, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		_ = os.RemoveAll(dir)
	})
	plant(t, f)
	data, err := yaml.Marshal(f.Document(fleet.Site{Vars: map[string]any{"release": "1.0", "password": fleet.Secret("hunter2hunter2")}}))
	if err != nil {
		t.Fatal(err)
	}
	b := &testFleet{t: t, fleet: f, inventory: filepath.Join(dir, "inventory.yaml"), playbook: playbook}
	if err := os.WriteFile(b.inventory, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// plant creates the files on the hosts that the playbook removes.
func plant(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	for _, h := range f.Hosts {
		if err := os.MkdirAll(filepath.Join(h.Root, "var/lib/app"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(h.Root, "var/lib/app/stale"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// run executes the playbook in this process.
func (b *testFleet) run(id string) *engine.Report {
	b.t.Helper()
	inv, err := inventory.Load(b.inventory, inventory.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := controller(inv, b.playbook)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer stop()
	report, err := c.Run(ctx, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return report
}

// settled checks that a run is complete, that the hosts have the wanted files, and
// that a second run changes nothing.
func (b *testFleet) settled(r *engine.Report, want map[string]string) {
	b.t.Helper()
	if r.Outcome() != engine.OutcomeDone {
		b.t.Fatalf("the run is %s: %s, %+v", r.Outcome(), r.Aborted, r.Broken())
	}
	b.like(want)
	if again := b.run("again"); again.Changed() != 0 || again.Outcome() != engine.OutcomeDone {
		b.t.Errorf("the next run is %s and changes %d", again.Outcome(), again.Changed())
	}
	b.like(want)
}

func (b *testFleet) like(want map[string]string) {
	b.t.Helper()
	for _, h := range b.fleet.Hosts {
		if diff := cmp.Diff(want, tree(b.t, h)); diff != "" {
			b.t.Errorf("%s is not like an undisturbed host (- want, + got):\n%s", h.Name, diff)
		}
	}
}

// tree returns the files of a host, with its name replaced by NAME, so that hosts can
// be compared.
func tree(t *testing.T, h *fleet.Host) map[string]string {
	t.Helper()
	out, err := h.Tree()
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range out {
		out[path] = strings.ReplaceAll(text, h.Name, "NAME")
	}
	return out
}

// playbookDir returns the directory of the playbook, with a file that is large enough
// for a blob of several frames.
func playbookDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 200_000)
	for i := range large {
		large[i] = byte(i * i >> 3) // hardly compressible for zstd
	}
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "files", "large.bin"), large, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSweeps breaks a run at every place where it can break.
func TestSweeps(t *testing.T) {
	playbook := playbookDir(t)
	quiet := newTestFleet(t, 2, playbook, fleet.Options{})
	if r := quiet.run("quiet"); r.Outcome() != engine.OutcomeDone {
		t.Fatalf("undisturbed, it is %s: %s %+v", r.Outcome(), r.Aborted, r.Broken())
	}
	want := tree(t, quiet.fleet.Hosts[0])
	if len(want) < 20 {
		t.Fatalf("the playbook leaves only %d things", len(want))
	}
	quiet.like(want)
	t.Run("controller", func(t *testing.T) { sweepController(t, playbook, want) })
	// First each result travels in a frame of its own, so that a run breaks between
	// any two of them; then results travel together, so that several are lost at
	// once.
	for _, how := range []struct {
		name   string
		singly bool
	}{{"", true}, {", results together", false}} {
		t.Run("connection"+how.name, func(t *testing.T) {
			sweepFrames(t, playbook, want, sweep{first: 1, singly: how.singly}, func(b *breaker, h *fleet.Host, c sshtest.Command, serve func(sshtest.Command) int) int {
				b.arm(h.Cut)
				return serve(tapped(b, c))
			})
		})
		// The controller takes an agent that dies before the exchange of hello
		// messages for a broken program and sends it again, which simulated hosts do
		// not support. The tests of engine/agent cover that.
		t.Run("agent"+how.name, func(t *testing.T) {
			sweepFrames(t, playbook, want, sweep{first: 3, singly: how.singly}, func(b *breaker, h *fleet.Host, c sshtest.Command, _ func(sshtest.Command) int) int {
				return agentProcess(role{Root: h.Root, Host: h.Name, Line: c.Line, ReportSteps: how.singly}, tapped(b, c), func(p *os.Process) { b.arm(func() { _ = p.Signal(syscall.SIGKILL) }) })
			})
		})
	}
}

// sweepController kills the controller at every end of a step on two hosts, and
// then runs the playbook again.
func sweepController(t *testing.T, playbook string, want map[string]string) {
	steps := 0
	for at := 1; ; at += *stride {
		b := newTestFleet(t, 2, playbook, fleet.Options{})
		killed := b.controllerProcess(at)
		if !killed {
			steps = at
			break
		}
		r := b.run("resumed")
		b.settled(r, want)
		b.fleet.Close()
		if t.Failed() {
			t.Fatalf("when the controller is killed after %d steps", at)
		}
	}
	if steps < 2*30 {
		t.Errorf("the playbook has only %d steps on two hosts", steps)
	}
	t.Logf("the controller was killed at %d places of %d or fewer, and the end was always the same", (steps+*stride-2) / *stride, steps)
}

// controllerProcess runs a controller that kills itself, and reports whether it did.
func (b *testFleet) controllerProcess(dieAfter int) bool {
	b.t.Helper()
	cmd, err := role{Inventory: b.inventory, Run: "killed", Playbook: b.playbook, DieAfter: dieAfter}.process()
	if err != nil {
		b.t.Fatal(err)
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return true
	}
	if err != nil {
		b.t.Fatalf("the controller: %v", err)
	}
	return false
}

// sweep has the first frame to break at, and whether each result has a frame of its
// own.
type sweep struct {
	first  int
	singly bool
}

// sweepFrames breaks the session of a host at every frame; the run has to complete
// all the same.
func sweepFrames(t *testing.T, playbook string, want map[string]string, s sweep, answer func(*breaker, *fleet.Host, sshtest.Command, func(sshtest.Command) int) int) {
	frames := 0
	broken := 0
	for at := 0; at <= frames; {
		breaker := &breaker{at: at}
		b := newTestFleet(t, 1, playbook, fleet.Options{ReportSteps: s.singly, Exec: func(_ context.Context, h *fleet.Host, c sshtest.Command, serve func(sshtest.Command) int) int {
			return answer(breaker, h, c, serve)
		}})
		r := b.run(fmt.Sprintf("at-%d", at))
		if at == 0 {
			frames = breaker.frames()
		} else {
			broken++
		}
		b.settled(r, want)
		b.fleet.Close()
		if t.Failed() {
			t.Fatalf("when it breaks at frame %d of %d", at, frames)
		}
		if at == 0 {
			at = s.first
		} else {
			at += *stride
		}
	}
	if s.singly && frames < 40 {
		t.Errorf("a run has only %d frames", frames)
	}
	t.Logf("broken at %d of %d frames, and the end was always the same", broken, frames)
}

func tapped(b *breaker, c sshtest.Command) sshtest.Command {
	c.Stdin = tapReader{c.Stdin, newTap(b, false)}
	c.Stdout = tapWriter{c.Stdout, newTap(b, true)}
	return c
}
