package schedule

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/session"
	"deployer/limit"
)

// world makes a random program and checks, from the steps that its fake hosts
// receive, that the guarantees of the scheduler hold.
type world struct {
	t     *testing.T
	seed  uint64
	rand  *rand.Rand
	yaml  strings.Builder
	hosts []string
	plays []worldPlay
	next  int // number of the next task
	// rates of outcomes, in percent
	fail, lose, change int

	hide     bool // no need may refer to labels made now
	hidden   []string
	barriers []worldBarrier
	limit    map[int]throttleRule // task -> rule
	notifies map[int][]string     // task -> handlers
	handlers map[string]int       // handler -> play

	mu     sync.Mutex
	log    []worldStep
	inside map[int]int // throttle -> hosts in a step of it
	broken []string
	// shaken is set when a host's connection was lost in a step for another host: a
	// change that other hosts made there at that moment may no longer be visible.
	shaken bool
}

type worldPlay struct {
	hosts       map[string]bool
	batch       map[string]int // of a host, in a serial play
	first, last int            // tasks, excluding last
}

// worldBarrier is a barrier before a task; whole is true for the barrier of a play,
// before which no batch begins.
type worldBarrier struct {
	play, task int
	whole      bool
}

type throttleRule struct{ id, limit int }

type worldStep struct {
	host    string
	task    int    // -1 for handlers
	handler string // its name
	outcome string
}

func newWorld(t *testing.T, seed uint64, hosts int) *world {
	r := rand.New(rand.NewPCG(seed, 7))
	return &world{t: t, seed: seed, rand: r, hosts: hostNames(hosts), fail: r.IntN(3), lose: r.IntN(3), change: 30,
		limit: map[int]throttleRule{}, notifies: map[int][]string{}, handlers: map[string]int{}, inside: map[int]int{}}
}

func (w *world) chance(percent int) bool { return w.rand.IntN(100) < percent }

func (w *world) line(indent int, format string, args ...any) {
	fmt.Fprintf(&w.yaml, strings.Repeat(" ", indent)+format+"\n", args...)
}

// generate writes the program.
func (w *world) generate() string {
	labels := []string{}
	for p := range 1 + w.rand.IntN(4) {
		play := worldPlay{hosts: map[string]bool{}}
		for _, h := range w.hosts {
			if w.chance(75) {
				play.hosts[h] = true
			}
		}
		play.hosts[w.hosts[p%len(w.hosts)]] = true
		play.first = w.next
		names := []string{}
		for _, h := range w.hosts {
			if play.hosts[h] {
				names = append(names, h)
			}
		}
		w.line(0, "- hosts: %q", strings.Join(names, ","))
		if w.chance(30) {
			w.line(2, "barrier: true")
			w.barriers = append(w.barriers, worldBarrier{p, w.next, true})
		}
		if w.chance(30) {
			play.batch = w.serial(names)
		}
		if w.chance(20) {
			w.line(2, "strategy: linear")
		}
		w.plays = append(w.plays, play)
		w.line(2, "handlers:")
		count := 1 + w.rand.IntN(3)
		for i := range count {
			name := fmt.Sprintf("handler%d-%d", p, i)
			w.handlers[name] = p
			w.line(4, "- {name: %s, do: {}}", name)
		}
		w.line(2, "tasks:")
		for range 1 + w.rand.IntN(8) {
			w.item(p, 4, count, &labels, 0)
		}
		if w.chance(30) {
			w.line(4, "- meta: flush_handlers")
			w.item(p, 4, count, &labels, 0)
		}
		w.plays[p].last = w.next
	}
	return w.yaml.String()
}

// serial cuts the play into batches of one size, the last one smaller.
func (w *world) serial(names []string) map[string]int {
	size := 1 + w.rand.IntN(3)
	w.line(2, "serial: %d", size)
	batch := map[string]int{}
	for i, h := range names {
		batch[h] = i / size
	}
	return batch
}

// item writes a task or a block. Barriers are at the top level only: hosts may skip
// those in a block.
func (w *world) item(p, indent, handlers int, labels *[]string, depth int) {
	if depth < 2 && w.chance(20) {
		w.block(p, indent, handlers, labels, depth)
		return
	}
	n := w.next
	w.next++
	w.line(indent, "- name: t%d", n)
	indent += 2
	if depth == 0 && w.chance(15) {
		w.line(indent, "barrier: true")
		w.barriers = append(w.barriers, worldBarrier{p, n, false})
	}
	if depth == 0 && w.chance(15) {
		w.line(indent, "throttle: %d", 1+n%3)
		w.limit[n] = throttleRule{id: n, limit: 1 + n%3}
	}
	if w.chance(40) {
		h := fmt.Sprintf("handler%d-%d", p, w.rand.IntN(handlers))
		w.notifies[n] = append(w.notifies[n], h)
		w.line(indent, "notify: %s", h)
	}
	if len(*labels) > 0 && w.chance(15) {
		l := (*labels)[w.rand.IntN(len(*labels))]
		if w.chance(50) {
			w.line(indent, "needs: [{label: %s, count: %d}]", l, 1+w.rand.IntN(4))
		} else {
			w.line(indent, "needs: %s", l)
		}
	}
	switch w.rand.IntN(11) {
	case 0:
		w.line(indent, "act: {name: t%d}", n)
	case 10:
		w.line(indent, "do: {}")
		w.line(indent, "delegate_to: %s", []string{"lb", w.hosts[w.rand.IntN(len(w.hosts))]}[n%2])
	case 1:
		w.line(indent, "act: {name: t%d}", n)
		w.line(indent, "run_once: true")
		w.line(indent, "register: once%d", n)
	case 2:
		w.line(indent, "do: {text: %q}", "{{ reg.changed }}")
		w.line(indent, "when: '\"reg\" in $env'")
	case 3:
		w.line(indent, "do: {}")
		w.line(indent, "register: reg")
	default:
		w.line(indent, "do: {}")
	}
	if w.chance(15) {
		l := fmt.Sprintf("label%d", n)
		if w.hide {
			w.hidden = append(w.hidden, l)
		} else {
			*labels = append(*labels, l)
		}
		w.line(indent, "label: %s", l)
	}
}

func (w *world) block(p, indent, handlers int, labels *[]string, depth int) {
	first := w.next
	throttled := depth == 0 && w.chance(40)
	if throttled { // needs of a label in the same block could wait forever
		own := append([]string(nil), *labels...)
		defer func(all *[]string) { *all = append(*all, w.hidden...); w.hidden = nil }(labels)
		labels = &own
		w.hide = true
		defer func() { w.hide = false }()
	}
	w.line(indent, "- block:")
	for range 1 + w.rand.IntN(3) {
		w.item(p, indent+4, handlers, labels, depth+1)
	}
	rule := throttleRule{id: 10000 + first, limit: 1 + first%3}
	if throttled {
		for n := first; n < w.next; n++ {
			w.limit[n] = rule
		}
		w.line(indent, "  throttle: %d", rule.limit)
	}
	if w.chance(30) {
		w.line(indent, "  when: host.name != %q", w.hosts[w.rand.IntN(len(w.hosts))])
	}
	for _, part := range []string{"rescue", "always"} {
		if w.chance(40) {
			w.line(indent, "  %s:", part)
			w.item(p, indent+4, handlers, labels, depth+1)
		}
	}
}

// outcome returns the outcome of an attempt, which depends on the seed, the host, the
// step and the number of attempts.
func (w *world) outcome(host, step string, try int) string {
	h := fnv.New64a()
	fmt.Fprint(h, w.seed, host, step, try)
	n := int(h.Sum64() % 1000)
	switch {
	case n < w.fail*5:
		return "fail"
	case n < w.fail*5+w.lose*5:
		return "lose"
	case n < 100+w.change*10:
		return "change"
	}
	return "ok"
}

// anAction is the attempt number that stands for an action.
const anAction = 0

func (w *world) begin(host, name string, try int) (string, func()) {
	s := worldStep{host: host, task: -1, outcome: w.outcome(host, name, max(try, 1))}
	if try == anAction && s.outcome != "fail" {
		s.outcome = "change" // they always have something to do
	}
	if _, err := fmt.Sscanf(name, "t%d", &s.task); err != nil {
		s.task, s.handler = -1, name
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, s)
	rule, throttled := w.limit[s.task]
	if !throttled {
		return s.outcome, func() {}
	}
	if w.inside[rule.id]++; w.inside[rule.id] > rule.limit {
		w.broken = append(w.broken, fmt.Sprintf("%d hosts in throttle %d with limit %d", w.inside[rule.id], rule.id, rule.limit))
	}
	return s.outcome, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inside[rule.id]--
	}
}

// scenario builds the fleet that follows the world's outcomes.
func (w *world) scenario(forks int) *scenario {
	s := &scenario{fleet: newFleet(), inv: inventory{hosts: w.hosts}}
	tries := map[string]int{}
	var mu sync.Mutex
	again := func(host, name string) int {
		mu.Lock()
		defer mu.Unlock()
		tries[host+name]++
		return tries[host+name]
	}
	s.fleet.onStep = func(host string, st engine.Step, _ doArgs) string {
		there := host
		if _, of, delegated := strings.Cut(st.ID, "/"); delegated {
			host = of
		}
		outcome, end := w.begin(host, st.Name, again(host, st.Name))
		defer end()
		if outcome == "lose" && there != host {
			w.shake()
		}
		if w.seed%3 == 0 {
			runtime.Gosched()
		}
		return outcome
	}
	s.fleet.action = func(_ context.Context, name string, _ map[string]any, actx engine.ActionContext) (engine.Output, error) {
		outcome, end := w.begin(actx.Host(), name, anAction)
		defer end()
		if outcome == "fail" {
			return nil, errors.New("action failed")
		}
		return nil, nil
	}
	s.fleet.connect = func(host string, try int) error {
		switch w.outcome(host, "connect", try) {
		case "fail":
			return errors.New("refused")
		case "lose":
			return flaky{"timeout"}
		}
		return nil
	}
	s.opts = func(o *Options) {
		o.Forks = forks
		o.ActionParallelism = 1 + int(w.seed%4)
		o.Retry = session.Retry{Initial: 1, Max: 1000}
	}
	return s
}

func (w *world) shake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shaken = true
}

func (w *world) errorf(format string, args ...any) {
	w.t.Errorf("seed %d: %s\n%s", w.seed, fmt.Sprintf(format, args...), w.yaml.String())
}

// checkOrder checks that the tasks of each host come in the order of the program;
// only a step whose connection was lost comes twice in a row.
func (w *world) checkOrder() {
	last := map[string]worldStep{}
	for _, s := range w.log {
		if s.task < 0 {
			continue
		}
		before, ok := last[s.host]
		if ok && (s.task < before.task || s.task == before.task && before.outcome != "lose") {
			w.errorf("%s did t%d after t%d", s.host, s.task, before.task)
		}
		last[s.host] = s
	}
}

// checkBarriers checks that no host of a play is before a barrier once another one is
// beyond it.
func (w *world) checkBarriers() {
	for _, b := range w.barriers {
		beyond := map[int]string{} // by batch
		for _, s := range w.log {
			play := w.plays[b.play]
			if s.task < 0 || !play.hosts[s.host] {
				continue
			}
			batch := play.batch[s.host]
			if b.whole {
				batch = 0
			}
			switch {
			case s.task >= b.task && beyond[batch] == "":
				beyond[batch] = s.host
			case s.task < b.task && beyond[batch] != "":
				w.errorf("%s did t%d while %s was beyond the barrier before t%d", s.host, s.task, beyond[batch], b.task)
				return
			}
		}
	}
}

// checkBatches checks that the hosts of earlier batches have ended the play, its
// handlers included, once a host of a batch works.
func (w *world) checkBatches() {
	for i, play := range w.plays {
		latest := 0
		for _, s := range w.log {
			in := s.task >= play.first && s.task < play.last || s.handler != "" && w.handlers[s.handler] == i
			if !in {
				continue
			}
			if play.batch[s.host] < latest {
				w.errorf("%s of batch %d worked after batch %d had begun: %v", s.host, play.batch[s.host], latest, s)
				return
			}
			latest = play.batch[s.host]
		}
	}
}

// checkHandlers checks that a handler runs only after a change that notifies it, and
// once for all changes since its last run; hosts that completed have run all notified
// handlers.
func (w *world) checkHandlers(report *engine.Report) {
	for _, h := range report.Hosts {
		due, unsure := map[string]bool{}, map[string]bool{}
		for _, s := range w.log {
			switch {
			case s.host != h.Host:
			case s.handler != "":
				if !due[s.handler] && !unsure[s.handler] {
					w.errorf("%s ran %s without a reason: %v", s.host, s.handler, w.log)
				}
				due[s.handler] = false
				unsure[s.handler] = s.outcome == "lose"
			case s.outcome == "change" || s.outcome == "lose" || w.shaken:
				for _, n := range w.notifies[s.task] {
					due[n] = due[n] || s.outcome == "change"
					unsure[n] = true
				}
			}
			if s.host == h.Host && s.handler != "" && s.outcome != "lose" {
				unsure[s.handler] = false
			}
		}
		if h.Failure != nil || h.Cancelled {
			continue
		}
		for name, missing := range due {
			if missing {
				w.errorf("%s never ran %s: %v", h.Host, name, w.log)
			}
		}
	}
}

// checkBlame checks that only hosts with a failure or a loss are reported as broken.
func (w *world) checkBlame(report *engine.Report, s *scenario) {
	harmed := map[string]bool{}
	for _, st := range w.log {
		if st.outcome == "fail" || st.outcome == "lose" {
			harmed[st.host] = true
		}
	}
	for host, tries := range s.fleet.tries {
		for try := 1; try <= tries; try++ {
			if o := w.outcome(host, "connect", try); o == "fail" || o == "lose" {
				harmed[host] = true
			}
		}
	}
	any := harmed["lb"]
	for _, h := range report.Hosts {
		any = any || harmed[h.Host]
		if h.Failure != nil && !harmed[h.Host] && !strings.HasPrefix(h.Failure.Message, "delegated to") {
			w.errorf("%s is blamed for nothing: %v", h.Host, h.Failure)
		}
		if h.Failure != nil && strings.Contains(h.Failure.Message, "internal error") {
			w.errorf("%s: %s\n%s", h.Host, h.Failure.Message, h.Failure.Detail)
		}
	}
	for _, h := range report.Hosts {
		if h.Cancelled && !any {
			w.errorf("%s was cancelled although nothing failed: %v", h.Host, parkedTexts(s.fleet.events))
		}
	}
}

// parkedTexts returns the reasons for which hosts were taken out.
func parkedTexts(events []engine.Event) []string {
	var out []string
	for _, e := range events {
		if e.Type == engine.EventHostParked {
			out = append(out, e.Host+": "+e.Text)
		}
	}
	return out
}

// TestPropertyFaults runs many random programs on fake hosts
// that fail at random places.
func TestPropertyFaults(t *testing.T) {
	seeds := uint64(250)
	if testing.Short() {
		seeds = 60
	}
	before := runtime.NumGoroutine()
	var ended, broken, cancelled, lost, handlers, compiled int
	for seed := range seeds {
		w := newWorld(t, seed, 2+int(seed%9))
		site := w.generate()
		forks := 1 + int(seed%5)
		s := w.scenario(forks)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second, errors.New("deadlock"))
		report := s.run(t, ctx, site)
		cancel()
		compiled++
		if report.Interrupted {
			w.errorf("the run did not end: %s", report.Aborted)
			break
		}
		if s.fleet.maxBusy > forks {
			w.errorf("%d hosts in flight with %d forks", s.fleet.maxBusy, forks)
		}
		for _, b := range w.broken {
			w.errorf("%s", b)
		}
		w.checkOrder()
		w.checkBarriers()
		w.checkBatches()
		w.checkHandlers(report)
		w.checkBlame(report, s)
		if t.Failed() {
			t.Fatalf("stopping at seed %d:\n%s", seed, summary(report))
		}
		for _, h := range report.Hosts {
			switch {
			case h.Failure != nil:
				broken++
			case h.Cancelled:
				cancelled++
			default:
				ended++
			}
		}
		for _, st := range w.log {
			if st.outcome == "lose" {
				lost++
			}
			if st.handler != "" {
				handlers++
			}
		}
	}
	// The test proves nothing if too few or too many hosts of the random programs
	// fail.
	t.Logf("%d programs: hosts that ended %d, failed %d, cancelled %d; connections lost %d, handlers run %d",
		compiled, ended, broken, cancelled, lost, handlers)
	if ended < 100 || broken < 20 || cancelled < 10 || lost < 20 || handlers < 100 {
		t.Error("the random programs do not cover enough")
	}
	noLeak(t, before)
}

// noLeak waits until there are no more goroutines than before.
func noLeak(t *testing.T, before int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
		time.Sleep(time.Millisecond)
	}
}

// TestPropertyInterrupt: an interrupt or a cancellation at any time makes Run return
// soon, with all sessions closed and no goroutine left.
func TestPropertyInterrupt(t *testing.T) {
	before := runtime.NumGoroutine()
	interrupted := 0
	for seed := range uint64(90) {
		w := newWorld(t, 1000+seed, 8)
		s := w.scenario(3)
		site := w.generate()
		interrupt := make(chan struct{})
		ctx, cancel := context.WithCancelCause(t.Context())
		var once sync.Once
		steps := 0
		inner := s.fleet.onStep
		s.fleet.onStep = func(host string, st engine.Step, a doArgs) string {
			w.mu.Lock()
			steps++
			now := steps == 1+int(seed/2)%20
			w.mu.Unlock()
			if now {
				once.Do(func() {
					if seed%2 == 0 {
						close(interrupt)
					} else {
						cancel(errors.New("now"))
					}
				})
			}
			return inner(host, st, a)
		}
		opts := s.opts
		s.opts = func(o *Options) { opts(o); o.Interrupt = interrupt }
		began := time.Now()
		report := s.run(t, ctx, site)
		cancel(nil)
		if took := time.Since(began); took > 10*time.Second {
			w.errorf("it took %s", took)
		}
		if report.Interrupted {
			interrupted++
		}
		w.checkOrder()
		w.checkBarriers()
	}
	if interrupted < 45 {
		t.Errorf("only %d runs were interrupted", interrupted)
	}
	noLeak(t, before)
}

// TestThousandsOfHosts runs a program with a barrier, a throttle, needs and a
// run_once task on thousands of hosts.
func TestThousandsOfHosts(t *testing.T) {
	s := of(3000)
	s.fleet.quiet = true
	s.inv.groups = map[string][]string{"master": s.inv.hosts[:3], "etcd": s.inv.hosts[:3], "minion": s.inv.hosts[3:]}
	tenth, err := limit.Parse("10%")
	if err != nil {
		t.Fatal(err)
	}
	s.fleet.connect = func(host string, _ int) error {
		if strings.HasSuffix(host, "77") { // 30 hosts
			return errors.New("no route to host")
		}
		return nil
	}
	s.opts = func(o *Options) { o.Budget = map[string]limit.Limit{"minion": tenth} }
	report := s.run(t, t.Context(), `
- hosts: all
  tasks:
    - {name: a, do: {}, register: a}
    - {name: plan, act: {}, run_once: true, register: plan, barrier: true}
- hosts: master
  tasks:
    - {name: up, do: {}, label: up, throttle: 1}
- hosts: all
  tasks:
    - {name: join, do: {}, needs: [{label: up, count: 2}]}
    - throttle: n / 100
      block: [{name: b, do: {do: change}, notify: h}]
    - {name: c, do: {}, barrier: true}
  handlers: [{name: h, do: {}}]
`)
	if report.Aborted != "" || len(report.Broken()) != 30 {
		t.Fatalf("aborted %q, %d broken", report.Aborted, len(report.Broken()))
	}
	for _, h := range report.Hosts {
		if h.Failure == nil && (h.OK < 4 || h.Changed < 1 || h.Cancelled) {
			t.Fatalf("%+v", h)
		}
	}
	if s.fleet.maxBusy > 50 {
		t.Errorf("%d in flight", s.fleet.maxBusy)
	}
}
