package schedule

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"deployer/engine"
	"deployer/engine/compile"
	"deployer/engine/lang"
	"deployer/engine/lock"
	"deployer/engine/program"
	"deployer/engine/session"
)

// doArgs is the only host module of these tests. The fake agent reads its behaviour
// from the arguments; behaviour that differs between hosts comes from variables.
type doArgs struct {
	Do    string            `yaml:"do"` // ok, change, fail, say
	Say   map[string]any    `yaml:"say"`
	Text  string            `yaml:"text"`
	Extra map[string]string `yaml:"extra"`
}

func (*doArgs) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{}, nil
}

func (*doArgs) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// shArgs is doArgs for a module whose programs may run as another user.
type shArgs struct {
	doArgs `yaml:",inline"`
}

func (*shArgs) RunsPrograms() {}

// gateArgs is doArgs for a module with a readiness gate.
type gateArgs struct {
	doArgs `yaml:",inline"`
}

func (g *gateArgs) Gate() any { return g }

// setArgs is doArgs for a module that sets variables.
type setArgs struct {
	Do  string         `yaml:"do"`
	Say map[string]any `yaml:"values" short:"true" defines:"true"`
}

func (*setArgs) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{}, nil
}

func (*setArgs) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// actArgs is an action that calls a function of the test.
type actArgs struct {
	Name string         `yaml:"name"`
	With map[string]any `yaml:"with"`
	Err  string         `yaml:"err"`
	Gate bool           `yaml:"gate"` // waits in its check
	Give bool           `yaml:"yield"`
	Runs string         `yaml:"runs"` // the command that its effect names
	Dies string         `yaml:"dies"` // what it panics with
	fn   func(ctx context.Context, name string, with map[string]any, s engine.ActionContext) (engine.Output, error)
}

func (a *actArgs) Cancellable() bool { return a.Give }

func (a *actArgs) Check(ctx context.Context, s engine.ActionContext) (engine.Change, error) {
	if a.Gate {
		_, err := a.fn(ctx, a.Name, a.With, s)
		return engine.Change{}, err
	}
	if a.Runs != "" {
		s.Progress("running " + a.Runs)
		return engine.Changed(engine.Effect{Kind: engine.EffectCommand, Target: a.Runs, Action: "run on the controller"}), nil
	}
	return engine.Change{Needed: true}, nil
}

func (a *actArgs) Apply(ctx context.Context, s engine.ActionContext, _ engine.Change) (engine.Output, error) {
	if a.Dies != "" {
		panic(a.Dies)
	}
	if a.Err != "" {
		return nil, errors.New(a.Err)
	}
	if a.fn == nil {
		return nil, nil
	}
	return a.fn(ctx, a.Name, a.With, s)
}

// prepArgs is a preparer that renders a template into doArgs.
type prepArgs struct {
	Src string `yaml:"src"`
}

func (p *prepArgs) Prepare(_ context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	text, err := c.Render(p.Src)
	return "do", &doArgs{Do: "ok", Text: string(text)}, err
}

// srcArgs is a preparer that reads a file into doArgs, with the host's name if the
// arguments ask for it.
type srcArgs struct {
	Src   string `yaml:"src"`
	Named bool   `yaml:"named"`
	fleet *fleet
}

func (a *srcArgs) Prepare(_ context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	a.fleet.mu.Lock()
	a.fleet.prepared++
	a.fleet.mu.Unlock()
	text, err := c.File(a.Src)
	if a.Named {
		text = append(text, c.Host()...)
	}
	return "do", &doArgs{Do: "ok", Text: string(text)}, err
}

// fleet is a set of fake hosts with a log of their steps.
type fleet struct {
	mu sync.Mutex
	// log has one line for each executed step: "host step-name".
	log     []string
	events  []engine.Event
	flights map[string]int // segments sent, by host
	busy    int            // hosts with a segment or connection attempt in flight
	maxBusy int
	// prepared counts how often a task src was prepared.
	prepared int
	closed   int
	opened   int

	connect func(host string, try int) error
	pending func(host string) []string // names of handlers that are pending from earlier runs
	tries   map[string]int
	// onStep may fail a step ("fail"), or lose the connection ("lose").
	onStep func(host string, s engine.Step, args doArgs) string
	// onSegment is onStep for tests that distinguish checks from real steps; such
	// steps are not in the log.
	onSegment func(host string, check bool, s engine.Step) string
	delay     time.Duration
	action    func(ctx context.Context, name string, with map[string]any, s engine.ActionContext) (engine.Output, error)
	quiet     bool              // keep no log and no events
	arch      map[string]string // by host; else amd64
	// locks are the hosts' locks and their holders; fleets may share them.
	locks *lockTable
}

// lockTable are the locks of hosts.
type lockTable struct {
	mu     sync.Mutex
	byHost map[string]*fakeHost
	holder map[string]lock.Holder
}

func newLockTable() *lockTable {
	return &lockTable{byHost: map[string]*fakeHost{}, holder: map[string]lock.Holder{}}
}

func newFleet() *fleet {
	return &fleet{flights: map[string]int{}, tries: map[string]int{}, locks: newLockTable()}
}

func (f *fleet) Emit(e engine.Event) {
	if f.quiet && e.Type != engine.EventHostParked {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, e)
}

func (f *fleet) enter() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy++
	f.maxBusy = max(f.maxBusy, f.busy)
}

func (f *fleet) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy--
}

func (f *fleet) Connect(ctx context.Context, host string) (session.Session, error) {
	f.enter()
	defer f.leave()
	f.mu.Lock()
	f.tries[host]++
	try := f.tries[host]
	f.mu.Unlock()
	if f.connect != nil {
		if err := f.connect(host, try); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	f.opened++
	f.mu.Unlock()
	return &fakeHost{fleet: f, name: host, lost: make(chan struct{})}, nil
}

// PendingHandlers implements HandlerStore.
func (h *fakeHost) PendingHandlers() []string {
	if h.fleet.pending == nil {
		return nil
	}
	return h.fleet.pending(h.name)
}

// Lock implements session.Locker.
func (h *fakeHost) Lock(_ context.Context, who lock.Holder) error {
	t := h.fleet.locks
	t.mu.Lock()
	defer t.mu.Unlock()
	if have := t.byHost[h.name]; have != nil && have != h {
		return &lock.Held{Host: h.name, By: t.holder[h.name]}
	}
	t.byHost[h.name], t.holder[h.name] = h, who
	return nil
}

// Unlock implements session.Locker.
func (h *fakeHost) Unlock(context.Context) error {
	t := h.fleet.locks
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byHost[h.name] == h {
		delete(t.byHost, h.name)
	}
	return nil
}

// Lost is closed when the connection is.
func (h *fakeHost) Lost() <-chan struct{} { return h.lost }

// fakeHost is a session that follows the contract of Host.
type fakeHost struct {
	fleet  *fleet
	name   string
	mu     sync.Mutex
	finish bool
	dead   bool
	lost   chan struct{}
}

type flaky struct{ text string }

func (e flaky) Error() string   { return e.text }
func (e flaky) Retryable() bool { return true }

func (h *fakeHost) Facts() engine.Facts {
	return engine.Facts{Hostname: h.name, Arch: cmp.Or(h.fleet.arch[h.name], "amd64"), CPUs: 2}
}

func (h *fakeHost) Dial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("fake hosts cannot dial")
}

func (h *fakeHost) Close() error {
	_ = h.Unlock(context.Background())
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	h.fleet.closed++
	return nil
}

func (h *fakeHost) Stop(string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.finish = true
}

func (h *fakeHost) gone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead
}

func (h *fakeHost) finishing() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.finish
}

func (h *fakeHost) Run(ctx context.Context, seg engine.Segment, on func(engine.Result)) error {
	f := h.fleet
	f.enter()
	defer f.leave()
	f.mu.Lock()
	f.flights[h.name]++
	f.mu.Unlock()
	if h.gone() {
		return flaky{"the session is gone"}
	}
	h.mu.Lock()
	h.finish = false // Stop ends the segments in flight
	h.mu.Unlock()
	changed := map[string]bool{}
	for _, s := range seg.Steps {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if h.finishing() {
			return nil
		}
		if len(s.OnChange) > 0 && !slices.ContainsFunc(s.OnChange, func(id string) bool { return changed[id] }) {
			on(engine.Result{Step: s.ID, Status: engine.StatusSkipped})
			continue
		}
		res, lost := h.step(ctx, seg.CheckOnly, s)
		if lost {
			h.mu.Lock()
			h.dead = true
			close(h.lost)
			h.mu.Unlock()
			return flaky{"connection lost"}
		}
		changed[s.ID] = res.Status == engine.StatusChanged
		on(res)
		if res.Status == engine.StatusFailed && !s.IgnoreErrors {
			return nil
		}
	}
	return nil
}

func (h *fakeHost) step(ctx context.Context, check bool, s engine.Step) (engine.Result, bool) {
	f := h.fleet
	var args doArgs
	if err := json.Unmarshal(s.Args, &args); err != nil {
		panic(err)
	}
	if f.delay > 0 {
		select {
		case <-time.After(f.delay):
		case <-ctx.Done():
		}
	}
	do := args.Do
	if f.onStep != nil {
		if d := f.onStep(h.name, s, args); d != "" {
			do = d
		}
	}
	if f.onSegment != nil {
		do = f.onSegment(h.name, check, s)
	} else if !f.quiet {
		f.mu.Lock()
		line := h.name + " " + s.Name
		if args.Text != "" {
			line += " " + args.Text
		}
		f.log = append(f.log, line)
		f.mu.Unlock()
	}
	res := engine.Result{Step: s.ID, Status: engine.StatusOK, Output: engine.Output(args.Say)}
	switch do {
	case "change":
		res.Status = engine.StatusChanged
		res.Change = &engine.Change{Needed: true, Effects: []engine.Effect{{Kind: engine.EffectFile, Target: "/" + s.Name, Action: "replace"}}}
	case "surely fail":
		res.Status, res.Failure = engine.StatusFailed, &engine.Failure{Message: "failure requested by the test", Deterministic: true}
	case "program fails":
		res.Change = &engine.Change{Needed: true, Effects: []engine.Effect{{Kind: engine.EffectCommand, Target: s.Name, Action: "run"}}}
		fallthrough
	case "fail":
		res.Status, res.Failure = engine.StatusFailed, &engine.Failure{Message: "failure requested by the test"}
	case "lose":
		return res, true
	}
	return res, false
}

// of returns the log of one host.
func (f *fleet) of(host string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, l := range f.log {
		if rest, ok := strings.CutPrefix(l, host+" "); ok {
			out = append(out, rest)
		}
	}
	return out
}

func (f *fleet) registry() engine.Registry {
	return engine.NewRegistry([]engine.Kind{
		{Name: "do", New: func() any { return &doArgs{Do: "ok"} }},
		{Name: "act", New: func() any { return &actArgs{fn: f.action} }},
		{Name: "gate", New: func() any { return &gateArgs{doArgs{Do: "ok"}} }},
		{Name: "sh", New: func() any { return &shArgs{doArgs{Do: "ok"}} }},
		{Name: "set", New: func() any { return &setArgs{} }},
		{Name: "tmpl", New: func() any { return &prepArgs{} }},
		{Name: "src", New: func() any { return &srcArgs{fleet: f} }},
		{Name: "fetch", New: func() any { return &fetchArgs{} }},
	})
}

// inventory resolves the patterns that these tests use.
type inventory struct {
	hosts  []string
	groups map[string][]string
}

func hostNames(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("h%d", i+1)
	}
	return out
}

func (inv inventory) match(pattern string) ([]string, error) {
	if pattern == "all" {
		return inv.hosts, nil
	}
	var out []string
	for p := range strings.SplitSeq(pattern, ",") {
		switch g, ok := inv.groups[p]; {
		case ok:
			out = append(out, g...)
		case slices.Contains(inv.hosts, p):
			out = append(out, p)
		default:
			return nil, fmt.Errorf("unknown host or group %q", p)
		}
	}
	return out, nil
}

// scenario is one run of a test.
type scenario struct {
	fleet *fleet
	inv   inventory
	files []string // more files: name, text, ...
	opts  func(*Options)
	step  bool // compile for Options.Confirm
}

func (s *scenario) compile(t testing.TB, site string) *program.Program {
	t.Helper()
	tree := fstest.MapFS{"site.yaml": {Data: []byte(site)}}
	for i := 0; i+1 < len(s.files); i += 2 {
		tree[s.files[i]] = &fstest.MapFile{Data: []byte(s.files[i+1])}
	}
	lib := &compile.Compiler{Registry: s.fleet.registry(), Roles: []lang.Tree{{Name: "roles", FS: tree}}, Match: s.inv.match, Step: s.step}
	prog, err := lib.Compile(lang.Tree{FS: tree}, "site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

func (s *scenario) run(t testing.TB, ctx context.Context, site string) *engine.Report {
	t.Helper()
	opts := s.options()
	if s.opts != nil {
		s.opts(&opts)
	}
	report, err := Run(ctx, s.compile(t, site), opts)
	if err != nil {
		t.Fatal(err)
	}
	if s.fleet.opened != s.fleet.closed {
		t.Errorf("%d sessions were opened, %d closed", s.fleet.opened, s.fleet.closed)
	}
	return report
}

func (s *scenario) options() Options {
	return Options{
		RunID: "r1", Hosts: s.inv.hosts, Match: s.inv.match, Registry: s.fleet.registry(), Connector: s.fleet, Sink: s.fleet,
		Vars: func(host string) (map[string]any, error) {
			return map[string]any{"host": map[string]any{"name": host}, "hosts": map[string]any{}, "n": len(s.inv.hosts)}, nil
		},
		Retry:           session.Retry{Initial: time.Millisecond, Max: 4 * time.Millisecond},
		ProtectedGroups: []string{"master", "etcd"},
	}
}

func of(n int) *scenario { return &scenario{fleet: newFleet(), inv: inventory{hosts: hostNames(n)}} }

// summary returns a report as text, one host a line.
func summary(r *engine.Report) string {
	var b strings.Builder
	for _, h := range r.Hosts {
		fmt.Fprintf(&b, "%s ok=%d changed=%d skipped=%d failed=%d", h.Host, h.OK, h.Changed, h.Skipped, h.Failed)
		if h.Failure != nil {
			fmt.Fprintf(&b, " failure=%q", h.Failure.Message)
		}
		if h.Unreachable {
			b.WriteString(" unreachable")
		}
		if h.Cancelled {
			b.WriteString(" cancelled")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func dump(e engine.Event) string {
	data, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(data) + "\n"
}
