//go:build lab

package networks

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"deployer/test/harness"
)

// mesh has pings every 50 ms between the pods of startPods on all nodes. A pod that starts again is
// another pod: pings with the former one end, and others begin.
type mesh struct {
	site   *harness.Site
	nodes  []string
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	pods   map[string]meshPod // by node
	pings  []*meshPing
	errors []error
}

// meshPod is the pod of a node.
type meshPod struct {
	id        string   // process and its start; empty: none runs
	addresses []string // one of each family
	since     time.Time
}

// meshPing is one ping.
type meshPing struct {
	from, to       string // nodes
	address        string
	fromPod, toPod meshPod
	file           string
	begun          time.Time
	ended          bool
	end            time.Time // when it was ended
}

// settled is the time after which a new pod must be reachable: Felix lets packets pass when it has
// written the rules of the pod.
const settled = 3 * time.Second

// late is the maximum time from the last answer of a pod to its end. Its network ends some moments after
// its process, or before it on a host that is busy.
const late = time.Second

func startMesh(s *harness.Site, nodes []string) *mesh {
	ctx, cancel := context.WithCancel(s.T.Context())
	m := &mesh{site: s, nodes: nodes, cancel: cancel, done: make(chan struct{}), pods: map[string]meshPod{}}
	go func() {
		defer close(m.done)
		for ctx.Err() == nil {
			m.look(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Second): // each look is a connection to each node
			}
		}
	}()
	s.T.Cleanup(cancel)
	return m
}

// talking prints the process of the talker, its start and its addresses.
const talking = `for p in $(pidof coredns); do tr '\0' ' ' </proc/$p/cmdline | grep -q 5353 && echo $p-$(cut -d' ' -f22 /proc/$p/stat) $(nsenter -t $p -n ip -o addr show eth0 scope global | awk '{print $4}' | cut -d/ -f1); done | head -n 1`

// endFile is the file on a node with the time at which the process of a pod ended.
func endFile(p meshPod) string { return "/tmp/mesh-end-" + p.id }

// watchEnd lets the node note when the process of a pod ends: this program sees it late on a busy
// machine.
func (m *mesh) watchEnd(ctx context.Context, node string, p meshPod) {
	if pid, _, ok := strings.Cut(p.id, "-"); ok {
		_, _ = m.site.SSH(ctx, node, fmt.Sprintf("(while kill -0 %s 2>/dev/null; do sleep 0.1; done; date +%%s.%%N >%s) >/dev/null 2>&1 </dev/null &", pid, endFile(p)))
	}
}

// firstEnd returns the time at which the first pod of a ping ended; the end of the ping when both run.
func (m *mesh) firstEnd(p *meshPing) time.Time {
	first := p.end
	for node, pod := range map[string]meshPod{p.from: p.fromPod, p.to: p.toPod} {
		out := strings.TrimSpace(m.site.Shell(node, "cat "+endFile(pod)+" 2>/dev/null || true"))
		if at, err := strconv.ParseFloat(out, 64); err == nil && time.UnixMicro(int64(at*1e6)).Before(first) {
			first = time.UnixMicro(int64(at * 1e6))
		}
	}
	return first
}

// look notes the pods that are there, ends the pings of those that are not, and starts others.
func (m *mesh) look(ctx context.Context) {
	var wait sync.WaitGroup
	for _, node := range m.nodes {
		wait.Go(func() {
			out, err := m.site.SSH(ctx, node, talking)
			if err != nil {
				return
			}
			now := meshPod{}
			if f := strings.Fields(out); len(f) > 1 {
				now.id, now.addresses = f[0], f[1:]
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			if was := m.pods[node]; was.id == now.id {
				now.since = was.since
			} else {
				now.since = time.Now()
				m.watchEnd(ctx, node, now)
			}
			m.pods[node] = now
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pings {
		if !p.ended && (m.pods[p.from].id != p.fromPod.id || m.pods[p.to].id != p.toPod.id) {
			m.endPing(ctx, p)
		}
	}
	for i, from := range m.nodes {
		for _, to := range m.nodes[i+1:] {
			m.startPing(ctx, from, to)
		}
	}
}

func (m *mesh) startPing(ctx context.Context, from, to string) {
	a, b := m.pods[from], m.pods[to]
	if a.id == "" || b.id == "" || time.Since(a.since) < settled || time.Since(b.since) < settled {
		return
	}
	for _, address := range b.addresses {
		if slices.ContainsFunc(m.pings, func(p *meshPing) bool { return !p.ended && p.from == from && p.address == address }) {
			continue
		}
		p := &meshPing{from: from, to: to, address: address, fromPod: a, toPod: b, begun: time.Now(), file: fmt.Sprintf("/tmp/mesh-%s-%d", to, len(m.pings))}
		pid, _, _ := strings.Cut(a.id, "-")
		if _, err := m.site.SSH(ctx, from, fmt.Sprintf("nsenter -t %s -n ping -D -i 0.05 %s >%s 2>&1 </dev/null & echo $! >%s.pid", pid, address, p.file, p.file)); err == nil {
			m.pings = append(m.pings, p)
		}
	}
}

func (m *mesh) endPing(ctx context.Context, p *meshPing) {
	p.ended, p.end = true, time.Now()
	_, _ = m.site.SSH(ctx, p.from, "kill -INT $(cat "+p.file+".pid)")
}

// require requires that pods of all pairs of nodes reach each other now.
func (m *mesh) require(t *testing.T, when string) {
	t.Helper()
	m.site.Eventually(time.Minute, "pings between all nodes, "+when, func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		running := 0
		for _, p := range m.pings {
			if !p.ended {
				running++
			}
		}
		families := len(m.pods[m.nodes[0]].addresses)
		if want := len(m.nodes) * (len(m.nodes) - 1) / 2 * max(families, 1); running < want {
			return fmt.Errorf("%d of %d pairs ping", running, want)
		}
		return nil
	})
}

var reply = regexp.MustCompile(`\[(\d+\.\d+)\] .* icmp_seq=(\d+) ttl=`)

// end ends all pings and returns how many were sent and lost. The pings to a pod that has ended are
// not lost.
func (m *mesh) end(t *testing.T) (sent, lost int) {
	t.Helper()
	time.Sleep(time.Second)
	m.cancel()
	<-m.done
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pings {
		if !p.ended {
			m.endPing(t.Context(), p)
		}
		out := m.site.Shell(p.from, "sleep 0.2; cat "+p.file)
		replies, most, at := 0, 0, p.begun
		for _, r := range reply.FindAllStringSubmatch(out, -1) {
			seconds, _ := strconv.ParseFloat(r[1], 64)
			n, _ := strconv.Atoi(r[2])
			replies, most, at = replies+1, max(most, n), time.UnixMicro(int64(seconds*1e6))
		}
		missing, end := most-replies, m.firstEnd(p)
		if silent := end.Sub(at); silent > late {
			missing += int(silent / (50 * time.Millisecond))
		}
		if missing > 0 {
			m.errors = append(m.errors, fmt.Errorf("from %s (%s) to %s (%s): %d of %d were lost from %s to %s:\n%s", p.from, strings.Join(p.fromPod.addresses, ","), p.to, p.address, missing, most, p.begun.Format(time.TimeOnly), end.Format(time.TimeOnly), out[max(0, len(out)-400):]))
		}
		sent, lost = sent+most, lost+missing
	}
	return sent, lost
}
