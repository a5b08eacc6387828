package schedule

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/compile"
	"deployer/engine/lang"
	"deployer/engine/remote"
	"deployer/engine/remote/fakehost"
	"deployer/engine/session"
	"deployer/engine/transport/ssh"
	"deployer/engine/transport/sshtest"
)

// put is a real module that writes a file with a content. It counts its applications
// in a file beside it.
type put struct {
	Path string `yaml:"path"`
	Text string `yaml:"text"`
	Fail bool   `yaml:"fail"`
}

func (p *put) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if p.Fail {
		return engine.Change{}, errors.New("failure requested by the test")
	}
	have, err := os.ReadFile(sys.Path(p.Path))
	if err == nil && string(have) == p.Text {
		return engine.NoChange(engine.Output{"was": string(have)}), nil
	}
	return engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: p.Path, Action: "replace"}), nil
}

func (p *put) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if err := sys.Backup(p.Path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(sys.Path(p.Path)+".applied", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString("x")
	err = errors.Join(err, f.Close())
	if strings.HasPrefix(p.Text, "slow") {
		sys.Progress("slow")
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return engine.Output{"now": p.Text}, errors.Join(err, os.WriteFile(sys.Path(p.Path), []byte(p.Text), 0o644))
}

// realFleet is a set of hosts with real SSH servers and real agents, each
// below a directory of its own.
type realFleet struct {
	t       *testing.T
	dir     string
	dialer  *ssh.Dialer
	servers map[string]*sshtest.Server
	sink    engine.Sink
	reg     engine.Registry
	// refuse returns the reason why a host cannot be reached now; nil for all can.
	refuse func(host string) error
	bins   *remote.Binaries

	mu     sync.Mutex
	events []engine.Event
}

type noBinaries struct{}

func (noBinaries) AgentBinary(string) ([]byte, error) { return nil, errors.New("the hosts have it") }

func (noBinaries) AgentGzip(string) ([]byte, error) { return nil, errors.New("the hosts have it") }

func (noBinaries) AgentDigest(string) (string, error) { return "digest", nil }

func newRealFleet(t *testing.T, hosts []string) *realFleet {
	f := &realFleet{t: t, dir: t.TempDir(), servers: map[string]*sshtest.Server{}, dialer: ssh.NewDialer(ssh.Options{}),
		bins: remote.NewBinaries(noBinaries{}), reg: engine.NewRegistry([]engine.Kind{{Name: "put", New: func() any { return new(put) }}})}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := gossh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, "key"), pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, h := range hosts {
		f.start(h)
	}
	t.Cleanup(func() {
		f.dialer.Close()
		for _, s := range f.servers {
			s.Close()
		}
	})
	return f
}

func (f *realFleet) root(host string) string { return filepath.Join(f.dir, "hosts", host) }

func (f *realFleet) start(host string) {
	root := f.root(host)
	if err := os.MkdirAll(root, 0o755); err != nil {
		f.t.Fatal(err)
	}
	server, err := sshtest.Start(sshtest.Config{Exec: func(ctx context.Context, c sshtest.Command) int {
		opts := agent.ServeOptions{Root: root, Facts: func() engine.Facts { return engine.Facts{Hostname: host, Arch: "amd64"} }}
		// The steps in flight continue when the connection is lost, as on a host.
		serve := func() error { return agent.Serve(context.WithoutCancel(ctx), c.Stdin, c.Stdout, f.reg, opts) }
		if err := fakehost.Answer(c.Line, c.Stdout, serve); err != nil {
			return 1
		}
		return 0
	}})
	if err != nil {
		f.t.Fatal(err)
	}
	f.servers[host] = server
}

func (f *realFleet) Emit(e engine.Event) {
	f.mu.Lock()
	f.events = append(f.events, e)
	sink := f.sink
	f.mu.Unlock()
	if sink != nil {
		sink.Emit(e)
	}
}

func (f *realFleet) Connect(ctx context.Context, host string) (session.Session, error) {
	if f.refuse != nil {
		if err := f.refuse(host); err != nil {
			return nil, err
		}
	}
	address, port, err := net.SplitHostPort(f.servers[host].Addr)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	conn, err := f.dialer.Dial(ctx, ssh.Target{Host: host, Address: address, Port: n, Keys: []string{filepath.Join(f.dir, "key")},
		HostKeys: ssh.AcceptNew, KnownHosts: []string{filepath.Join(f.dir, "known")}})
	if err != nil {
		return nil, err
	}
	return remote.Connect(ctx, conn, remote.Options{Host: host, Binaries: f.bins, Sink: f})
}

func (f *realFleet) run(ctx context.Context, hosts []string, site string, change func(*Options)) *engine.Report {
	f.t.Helper()
	inv := inventory{hosts: hosts}
	lib := &compile.Compiler{Registry: f.reg, Match: inv.match}
	prog, err := lib.Compile(lang.Tree{FS: fstest.MapFS{"site.yaml": {Data: []byte(site)}}}, "site.yaml")
	if err != nil {
		f.t.Fatal(err)
	}
	opts := Options{RunID: fmt.Sprintf("r%d", time.Now().UnixNano()), Hosts: hosts, Match: inv.match, Registry: f.reg, Connector: f, Sink: f,
		Vars:  func(h string) (map[string]any, error) { return map[string]any{"host": map[string]any{"name": h}}, nil },
		Retry: session.Retry{Initial: 10 * time.Millisecond, Max: 50 * time.Millisecond}}
	if change != nil {
		change(&opts)
	}
	report, err := Run(ctx, prog, opts)
	if err != nil {
		f.t.Fatal(err)
	}
	return report
}

func (f *realFleet) read(host, file string) string {
	data, err := os.ReadFile(filepath.Join(f.root(host), file))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestRealAgents: the second run changes nothing.
func TestRealAgents(t *testing.T) {
	hosts := hostNames(5)
	f := newRealFleet(t, hosts)
	const site = `
- hosts: all
  tasks:
    - {name: one, put: {path: /one, text: "{{ host.name }}"}, register: one, notify: h}
    - {name: two, put: {path: /two, text: "of {{ one.now }}"}, when: one.changed}
    - {name: three, put: {path: /three, text: x}, barrier: true, notify: h}
  handlers:
    - {name: h, put: {path: /handled, text: "yes"}}
`
	for run, changed := range []int{20, 0} {
		report := f.run(t.Context(), hosts, site, nil)
		if got := report.Changed(); got != changed || len(report.Broken()) > 0 {
			t.Fatalf("run %d: %d changed, want %d\n%s", run, got, changed, summary(report))
		}
	}
	if got := f.read("h3", "two"); got != "of h3" {
		t.Errorf("two is %q", got)
	}
	if got := f.read("h3", "handled.applied"); got != "x" {
		t.Errorf("the handler was applied %q times", got)
	}
}

// TestRealConnectionLost: the connection is lost in the middle of a slow step; the
// run continues at that step, which is not applied twice, and its handler runs.
func TestRealConnectionLost(t *testing.T) {
	hosts := hostNames(2)
	f := newRealFleet(t, hosts)
	var once sync.Once
	f.sink = sinkFunc(func(e engine.Event) {
		if e.Type == engine.EventStepText && e.Host == "h1" && e.Text == "slow" {
			once.Do(func() { go f.servers["h1"].Cut() })
		}
	})
	report := f.run(t.Context(), hosts, `
- hosts: all
  tasks:
    - {name: one, put: {path: /one, text: a}}
    - {name: two, put: {path: /two, text: slow}, notify: h}
    - {name: three, put: {path: /three, text: c}}
  handlers:
    - {name: h, put: {path: /handled, text: "yes"}}
`, nil)
	if len(report.Broken()) > 0 || report.Hosts[0].Cancelled {
		t.Fatal(summary(report), report.Broken())
	}
	for _, file := range []string{"one", "two", "three", "handled"} {
		if got := f.read("h1", file+".applied"); got != "x" {
			t.Errorf("%s was applied %q, want once", file, got)
		}
	}
	if !slices.ContainsFunc(f.events, func(e engine.Event) bool { return e.Type == engine.EventHostRetry && e.Host == "h1" }) {
		t.Error("nobody was told of the lost connection")
	}
}

// TestRealInterrupt: the step in flight ends, and the next one does not begin.
func TestRealInterrupt(t *testing.T) {
	hosts := hostNames(3)
	f := newRealFleet(t, hosts)
	interrupt := make(chan struct{})
	var begun sync.WaitGroup
	begun.Add(len(hosts))
	f.sink = sinkFunc(func(e engine.Event) {
		if e.Type == engine.EventStepText && e.Text == "slow" {
			begun.Done()
		}
	})
	go func() {
		begun.Wait()
		close(interrupt)
	}()
	report := f.run(t.Context(), hosts, `
- hosts: all
  tasks:
    - {name: one, put: {path: /one, text: slow}}
    - {name: two, put: {path: /two, text: b}}
`, func(o *Options) { o.Interrupt = interrupt })
	for _, h := range report.Hosts {
		if !h.Cancelled || h.Changed != 1 {
			t.Errorf("%+v", h)
		}
		if f.read(h.Host, "one") != "slow" || strings.Contains(f.read(h.Host, "two"), "b\n") {
			t.Errorf("%s: one is %q, two is %q", h.Host, f.read(h.Host, "one"), f.read(h.Host, "two"))
		}
		if _, err := os.Stat(filepath.Join(f.root(h.Host), "two")); err == nil {
			t.Errorf("%s: the step after the one in flight was done", h.Host)
		}
	}
}

// TestRealFailures: a host whose server never returns is unreachable, and the other
// hosts continue.
func TestRealFailures(t *testing.T) {
	hosts := hostNames(3)
	f := newRealFleet(t, hosts)
	f.sink = sinkFunc(func(e engine.Event) {
		if e.Type == engine.EventStepEnd && e.Host == "h2" && e.Name == "one" {
			f.servers["h2"].Close()
		}
	})
	report := f.run(t.Context(), hosts, `
- hosts: all
  tasks:
    - {name: one, put: {path: /one, text: a}}
    - {name: two, put: {path: /two, text: b, fail: "{{ host.name == 'h3' }}"}, barrier: true}
`, func(o *Options) { o.Retry.Reattempts = 2 })
	h1, h2, h3 := report.Hosts[0], report.Hosts[1], report.Hosts[2]
	if h1.Changed != 2 || h1.Failure != nil {
		t.Errorf("h1: %+v", h1)
	}
	if !h2.Unreachable {
		t.Errorf("h2: %+v", h2)
	}
	if h3.Failure == nil || h3.Failure.Message != "failure requested by the test" || h3.FailedStep != "two" {
		data, _ := json.Marshal(h3)
		t.Errorf("h3: %s", data)
	}
}
