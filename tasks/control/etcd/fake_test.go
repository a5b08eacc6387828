package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// fake is an etcd cluster: its members, the running ones, and the recorded changes.
type fake struct {
	mu      sync.Mutex
	entries []Entry
	up      map[string]bool // by host
	behind  int             // number of promotions that fail because the learner lags
	leaders map[string]uint64
	done    []string
	worst   string // reason why a change was unsafe when it was requested
	nextID  uint64
	sizes   map[string]int64 // of database files; by default 4 MiB
	inUse   int64
	alarms  []string
	quota   int64
	history int64  // bytes of inUse that a compaction removes
	values  []Pair // sorted
	ranges  int    // requests for values
}

func newFake(names ...string) *fake {
	f := &fake{up: map[string]bool{}, leaders: map[string]uint64{}, nextID: 100, sizes: map[string]int64{}, inUse: 4 << 20}
	for i, name := range names {
		f.entries = append(f.entries, Entry{ID: uint64(i + 1), Name: name, PeerURLs: []string{peer(name)}, ClientURLs: []string{"https://" + address(name)}})
		f.up[name] = true
	}
	return f
}

func address(name string) string { return "10.0.0." + strings.TrimLeft(name, "em") + ":2379" }
func peer(name string) string    { return "https://10.0.0." + strings.TrimLeft(name, "em") + ":2380" }

func hostsOf(names ...string) []Host {
	var out []Host
	for _, n := range names {
		out = append(out, Host{Name: n, Address: address(n), PeerURL: peer(n)})
	}
	return out
}

func (f *fake) open(_, addr string) (Member, error) { return &fakeMember{f: f, address: addr}, nil }

// start starts etcd on a host that was added.
func (f *fake) start(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.startLocked(name)
}

func (f *fake) startLocked(name string) {
	f.up[name] = true
	for i, e := range f.entries {
		if slices.Contains(e.PeerURLs, peer(name)) {
			f.entries[i].Name, f.entries[i].ClientURLs = name, []string{"https://" + address(name)}
		}
	}
}

func (f *fake) quorum() bool {
	voters, up := 0, 0
	for _, e := range f.entries {
		if e.Learner {
			continue
		}
		voters++
		if e.Name != "" && f.up[e.Name] {
			up++
		}
	}
	return up > voters/2
}

// change records a change of the membership and whether it was safe.
func (f *fake) change(text string) {
	f.done = append(f.done, text)
	if !f.quorum() {
		f.worst = text + " lost the quorum"
	}
}

type fakeMember struct {
	Records  // not called
	Accounts // not called
	f        *fake
	address  string
}

func (m *fakeMember) self() (Entry, error) {
	for _, e := range m.f.entries {
		if m.f.up[e.Name] && slices.Contains(e.ClientURLs, "https://"+m.address) {
			return e, nil
		}
	}
	return Entry{}, errors.New("connection refused")
}

func (m *fakeMember) Close() error { return nil }

// Range returns one key a page, and fails for more than two keys as if the answer
// were too large.
func (m *fakeMember) Range(_ context.Context, from string, limit int64) ([]Pair, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.ranges++
	switch {
	case limit > 2:
		return nil, plain(status.Error(codes.ResourceExhausted, "grpc: received message larger than max"))
	case m.f.ranges%5 == 0:
		return nil, errors.New("connection reset by peer")
	}
	i, _ := slices.BinarySearchFunc(m.f.values, from, func(p Pair, key string) int { return strings.Compare(p.Key, key) })
	return m.f.values[i:min(i+int(limit), len(m.f.values))], nil
}

func (m *fakeMember) Status(context.Context) (Status, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	e, err := m.self()
	if err != nil {
		return Status{}, err
	}
	leader := uint64(1)
	if l, ok := m.f.leaders[e.Name]; ok {
		leader = l
	} else if !m.f.quorum() {
		leader = 0
	}
	return Status{ClusterID: 7, MemberID: e.ID, Leader: leader, Learner: e.Learner, Version: "3.6.8", DBSize: max(m.f.sizes[e.Name], m.f.inUse), DBInUse: m.f.inUse, Quota: m.f.quota, Revision: 40}, nil
}

func (m *fakeMember) Read(context.Context) error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	if e, err := m.self(); err != nil {
		return err
	} else if e.Learner {
		return rpctypes.ErrGRPCNotSupportedForLearner
	}
	if !m.f.quorum() {
		return rpctypes.ErrNoLeader
	}
	return nil
}

func (m *fakeMember) Members(ctx context.Context) ([]Entry, error) {
	if err := m.Read(ctx); err != nil {
		return nil, err
	}
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	return slices.Clone(m.f.entries), nil
}

func (m *fakeMember) AddLearner(_ context.Context, url string) error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.nextID++
	m.f.entries = append(m.f.entries, Entry{ID: m.f.nextID, PeerURLs: []string{url}, Learner: true})
	m.f.change("add " + url)
	return nil
}

func (m *fakeMember) Remove(_ context.Context, id uint64) error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.entries = slices.DeleteFunc(m.f.entries, func(e Entry) bool { return e.ID == id })
	m.f.change(fmt.Sprintf("remove %x", id))
	return nil
}

func (m *fakeMember) Readdress(_ context.Context, id uint64, url string) error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	for i, e := range m.f.entries {
		if e.ID == id {
			m.f.entries[i].PeerURLs = []string{url}
		}
	}
	m.f.change(fmt.Sprintf("readdress %x", id))
	return nil
}

func (m *fakeMember) Promote(_ context.Context, id uint64) error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	if m.f.behind > 0 {
		m.f.behind--
		return rpctypes.ErrMemberLearnerNotReady
	}
	for i, e := range m.f.entries {
		if e.ID == id {
			m.f.entries[i].Learner = false
		}
	}
	m.f.change(fmt.Sprintf("promote %x", id))
	return nil
}

func (m *fakeMember) Alarms(context.Context) ([]string, error) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	return slices.Clone(m.f.alarms), nil
}

func (m *fakeMember) Compact(_ context.Context, revision int64) error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	for _, e := range m.f.entries { // the files keep their size
		m.f.sizes[e.Name] = max(m.f.sizes[e.Name], m.f.inUse)
	}
	m.f.inUse -= m.f.history
	m.f.history = 0
	m.f.done = append(m.f.done, fmt.Sprintf("compact %d", revision))
	return nil
}

func (m *fakeMember) DisarmNoSpace(context.Context) error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	m.f.alarms = nil
	m.f.done = append(m.f.done, "disarm")
	return nil
}

// Defragment makes the member's file as large as its data.
func (m *fakeMember) Defragment(context.Context) error {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	e, err := m.self()
	if err != nil {
		return err
	}
	m.f.sizes[e.Name] = m.f.inUse
	m.f.done = append(m.f.done, "defragment "+e.Name)
	return nil
}
