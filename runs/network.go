package runs

import (
	"maps"
	"sync"

	"deployer/cluster"
	"deployer/cluster/networkstatus"
	"deployer/engine"
	"deployer/engine/sanitize"
)

// NetworkStatus returns a run that reads the state of the pod network and changes nothing.
func (c Runner) NetworkStatus(o Options) (*Run, error) {
	o.Verb = "network-status"
	return c.withoutArtifacts(o)
}

// NetworkState collects the outputs of the tasks network_state and network_objects. It is safe for
// concurrent use.
type NetworkState struct {
	mu      sync.Mutex
	hosts   map[string]networkstatus.Host
	objects *networkstatus.Objects
}

// maxSessions bounds the sessions of one host that are kept: a reflector of more than a thousand
// clients, during a change, has fewer.
const maxSessions = 4096

// Emit implements engine.Sink.
func (s *NetworkState) Emit(e engine.Event) {
	if out := e.ActionOutput(); out["objects"] != nil {
		var found struct {
			Objects networkstatus.Objects `json:"objects"`
		}
		if out.Decode(&found) == nil {
			s.mu.Lock()
			s.objects = &found.Objects
			s.mu.Unlock()
		}
		return
	}
	if e.Type != engine.EventStepEnd || e.Result == nil || e.Result.OnController || e.Result.Output["routes_present"] == nil {
		return
	}
	var host networkstatus.Host
	if e.Result.Output.Decode(&host) != nil {
		return // the output of another task
	}
	host.Sessions = host.Sessions[:min(len(host.Sessions), maxSessions)]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts == nil {
		s.hosts = map[string]networkstatus.Host{}
	}
	s.hosts[e.Host] = host
}

// Compare returns the state of the pod network, compared with the inventory. The texts are clean.
func (s *NetworkState) Compare(c *cluster.Cluster, done *engine.Report) networkstatus.Status {
	s.mu.Lock()
	found := networkstatus.Observed{Hosts: maps.Clone(s.hosts), Failures: map[string]string{}, Objects: networkstatus.Objects{Error: "no host could ask it"}}
	if s.objects != nil {
		found.Objects = *s.objects
	}
	s.mu.Unlock()
	for _, h := range done.Broken() {
		found.Failures[h.Host] = h.Failure.Message
	}
	out := networkstatus.Compare(c, found)
	sanitize.Fields(&out)
	return out
}
