package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"deployer/cluster"
)

// lookTimeout is the maximum duration of the observation of one member: a healthy one
// answers within milliseconds, one without a majority never does.
const lookTimeout = 3 * time.Second

// Host is a host on which an etcd member is expected.
type Host struct {
	Name    string
	Address string // host:port of its client URL, resolved on the host
	PeerURL string
}

// Hosts are the hosts of an etcd cluster in inventory order.
func Hosts(e cluster.Etcd) []Host {
	var out []Host
	for i, m := range e.Members {
		out = append(out, Host{Name: m.Name, Address: m.HostPort, PeerURL: e.Peers[i].URL})
	}
	return out
}

// Look is the observation of one member.
type Look struct {
	Host   string // empty for a member without a host of the cluster
	Status Status
	// Err is nil when the member answers and, unless it is a learner, serves linearizable
	// reads.
	Err error
	// Answers is true when the member has reported its status, even if it does not serve.
	Answers bool
}

// Survey is the observation of all members.
type Survey struct {
	Hosts   map[string]Look // by name of the host
	Entries []Entry         // the member list; nil when no member has returned it
	Others  map[uint64]Look // members without a host of the cluster, by ID
	via     string          // a host that answers, that of the leader if it does
}

// Take observes all hosts, and the members that they list, in parallel. Take takes at most
// about twice lookTimeout.
func Take(ctx context.Context, open Opener, hosts []Host) *Survey {
	s := &Survey{Hosts: map[string]Look{}, Others: map[uint64]Look{}}
	lists := map[string][]Entry{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, h := range hosts {
		wg.Go(func() {
			look, entries := look(ctx, open, h.Name, h.Address)
			look.Host = h.Name
			mu.Lock()
			defer mu.Unlock()
			s.Hosts[h.Name], lists[h.Name] = look, entries
		})
	}
	wg.Wait()
	// The leader before others: a follower forwards a promotion without the user who asks for it, and an
	// etcd with users refuses that (etcd server/etcdserver/server.go: PromoteMember).
	for _, h := range hosts {
		status := s.Hosts[h.Name].Status
		if lists[h.Name] != nil && (s.Entries == nil || status.Leader == status.MemberID) {
			s.Entries, s.via = lists[h.Name], h.Name
		}
	}
	s.lookAtOthers(ctx, open)
	return s
}

// lookAtOthers observes, through a host that answers, the listed members that no host
// belongs to.
func (s *Survey) lookAtOthers(ctx context.Context, open Opener) {
	var missing []Entry
	for _, e := range s.Entries {
		if _, ok := s.byID(e.ID); !ok && len(e.ClientURLs) > 0 {
			missing = append(missing, e)
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, e := range missing {
		address, err := url.Parse(e.ClientURLs[0])
		if err != nil {
			continue
		}
		wg.Go(func() {
			found, _ := look(ctx, open, s.via, address.Host)
			mu.Lock()
			defer mu.Unlock()
			if found.Status.MemberID == e.ID {
				s.Others[e.ID] = found
			}
		})
	}
	wg.Wait()
}

func look(ctx context.Context, open Opener, via, address string) (Look, []Entry) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	m, err := open(via, address)
	if err != nil {
		return Look{Err: err}, nil
	}
	defer func() { _ = m.Close() }()
	status, err := m.Status(ctx)
	if err != nil {
		return Look{Err: err}, nil
	}
	found := Look{Status: status, Answers: true}
	if status.Learner {
		return found, nil // a learner refuses further requests
	}
	if err := m.Read(ctx); err != nil {
		found.Err = fmt.Errorf("it serves no linearizable read: %w", err)
		return found, nil
	}
	entries, err := m.Members(ctx)
	if err != nil {
		found.Err = fmt.Errorf("it lists no members: %w", err)
	}
	return found, entries
}

func (s *Survey) byID(id uint64) (Look, bool) {
	for _, l := range s.Hosts {
		if l.Answers && l.Status.MemberID == id {
			return l, true
		}
	}
	l, ok := s.Others[id]
	return l, ok
}

// Live returns the running cluster in the form of the rules of package cluster; nil when
// no member serves.
func (s *Survey) Live() *cluster.EtcdLive {
	if s.Entries == nil {
		return nil
	}
	live := &cluster.EtcdLive{ClusterID: s.Hosts[s.via].Status.ClusterID}
	for _, e := range s.Entries {
		found, ok := s.byID(e.ID)
		live.Members = append(live.Members, cluster.LiveMember{
			ID: e.ID, Name: e.Name, PeerURLs: e.PeerURLs, Learner: e.Learner,
			Started: len(e.ClientURLs) > 0,
			Healthy: ok && found.Err == nil,
		})
	}
	slices.SortFunc(live.Members, func(a, b cluster.LiveMember) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return live
}

// Entry returns the row of the member list for a host: by the ID that its member
// reports, otherwise by its name, otherwise by its peer URL.
func (s *Survey) Entry(h Host) (Entry, bool) {
	found := s.Hosts[h.Name]
	for _, same := range []func(Entry) bool{
		func(e Entry) bool { return found.Answers && found.Status.MemberID == e.ID },
		func(e Entry) bool { return e.Name == h.Name },
		func(e Entry) bool { return slices.Contains(e.PeerURLs, h.PeerURL) },
	} {
		if i := slices.IndexFunc(s.Entries, same); i >= 0 {
			return s.Entries[i], true
		}
	}
	return Entry{}, false
}

// errNoMember is the error when no member can change the membership.
var errNoMember = errors.New("no etcd member serves")

// serving opens a member that serves, the leader if it does, for changes of the membership.
func (s *Survey) serving(open Opener, hosts []Host) (Member, error) {
	for _, h := range hosts {
		if h.Name == s.via {
			return open(h.Name, h.Address)
		}
	}
	return nil, errNoMember
}
