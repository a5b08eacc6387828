package prober

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// etcdInterval is the time from the end of one check of etcd's members to the
	// begin of the next.
	etcdInterval = 250 * time.Millisecond
	// etcdTimeout is the limit for the answers of a member. It is longer than that of
	// an attempt, so that a slow member is not down.
	etcdTimeout = 5 * time.Second
)

// etcdWatch watches the health of each voting member. A member is down while it does
// not answer a read of its own data; a member that knows no leader yet is down, too.
type etcdWatch struct {
	transport *http.Transport
	urls      map[string]string // the URL of each known member by its name
	seeds     []string
	most      int // maximum number of members that were down at one time
	mostAt    time.Time
	members   int // maximum number of voting members
	down      map[string]*span
}

// etcdMember is a member in the answer of etcd's JSON gateway.
type etcdMember struct {
	Name       string   `json:"name"`
	ClientURLs []string `json:"clientURLs"`
	Learner    bool     `json:"isLearner"`
}

func newEtcdWatch(target Target) *etcdWatch {
	return &etcdWatch{
		transport: &http.Transport{DialContext: target.EtcdDial, TLSClientConfig: target.EtcdTLS.Clone()},
		seeds:     target.Etcd, down: map[string]*span{},
	}
}

func (w *etcdWatch) run(stop <-chan struct{}) {
	for {
		w.look(time.Now())
		if !pause(stop, etcdInterval) {
			w.end(time.Now())
			return
		}
	}
}

// look checks all members. It reads the list of members again when one of them does
// not answer: a member that was removed meanwhile is not down.
func (w *etcdWatch) look(now time.Time) {
	members := w.list()
	if members != nil {
		w.urls = members
	}
	down := w.unhealthy(w.urls)
	if len(down) > 0 {
		if members := w.list(); members != nil {
			down = slices.DeleteFunc(down, func(name string) bool { return members[name] == "" })
		}
	}
	w.members = max(w.members, len(w.urls))
	if len(down) > w.most {
		w.most, w.mostAt = len(down), now
	}
	for _, name := range down {
		if w.down[name] == nil {
			w.down[name] = &span{}
		}
		w.down[name].open(now)
	}
	for name, s := range w.down {
		if !slices.Contains(down, name) {
			s.close(now)
		}
	}
}

func (w *etcdWatch) end(now time.Time) {
	for _, s := range w.down {
		s.close(now)
	}
}

// list returns the URLs of the voting members by name, from the first member that
// answers; nil when none does.
func (w *etcdWatch) list() map[string]string {
	ask := slices.Clone(w.seeds)
	for _, url := range w.urls {
		ask = append(ask, url)
	}
	for _, url := range ask {
		body, err := w.do(http.MethodPost, url+"/v3/cluster/member/list", "{}")
		if err != nil {
			continue
		}
		var answer struct {
			Members []etcdMember `json:"members"`
		}
		if err := json.Unmarshal(body, &answer); err != nil {
			continue
		}
		found := map[string]string{}
		for _, m := range answer.Members {
			if m.Name != "" && !m.Learner && len(m.ClientURLs) > 0 { // a member without a name has never started
				found[m.Name] = m.ClientURLs[0]
			}
		}
		return found
	}
	return nil
}

func (w *etcdWatch) unhealthy(urls map[string]string) (down []string) {
	var lock sync.Mutex
	var all sync.WaitGroup
	for name, url := range urls {
		all.Go(func() {
			if _, err := w.do(http.MethodGet, url+"/health?serializable=true", ""); err != nil {
				lock.Lock()
				defer lock.Unlock()
				down = append(down, name)
			}
		})
	}
	all.Wait()
	slices.Sort(down)
	return down
}

func (w *etcdWatch) do(method, url, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), etcdTimeout)
	defer cancel()
	return roundTrip(ctx, w.transport, method, url, body)
}
