package runs

import (
	"maps"
	"sync"

	"deployer/cluster"
	"deployer/cluster/networkstatus"
	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/sanitize"
)

// NetworkStatus returns a run that reads the state of the pod network and changes nothing.
func (c Runner) NetworkStatus(o Options) (*Run, error) {
	o.Verb = journal.VerbNetworkStatus
	return c.withoutArtifacts(o)
}

// NetworkState collects the outputs of the tasks network_state and network_objects. It is safe for
// concurrent use.
type NetworkState struct {
	mu      sync.Mutex
	hosts   map[string]networkstatus.Host
	objects *networkstatus.Objects
}

// Bounds of what is kept of one host, which is not trusted. A reflector of a thousand clients has fewer
// sessions also during a change, and the module lists fewer routes.
const (
	maxSessions   = 4096
	maxMissing    = 64
	maxInterfaces = 16
	maxText       = 300 // bytes
)

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
	bound(&host)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts == nil {
		s.hosts = map[string]networkstatus.Host{}
	}
	s.hosts[e.Host] = host
}

// bound cuts lists and texts of a host.
func bound(h *networkstatus.Host) {
	h.Sessions = h.Sessions[:min(len(h.Sessions), maxSessions)]
	h.Missing = h.Missing[:min(len(h.Missing), maxMissing)]
	h.Uplinks = h.Uplinks[:min(len(h.Uplinks), maxInterfaces)]
	cut := func(texts ...*string) {
		for _, t := range texts {
			*t = sanitize.FirstLine(*t, maxText)
		}
	}
	cut(&h.BIRDError, &h.CNI.File, &h.CNI.Type)
	for i := range h.Sessions {
		cut(&h.Sessions[i].Name, &h.Sessions[i].State, &h.Sessions[i].Since)
	}
	for i := range h.Missing {
		cut(&h.Missing[i].To, &h.Missing[i].Want, &h.Missing[i].Found)
	}
	for i := range h.Uplinks {
		cut(&h.Uplinks[i].Name)
	}
}

// Compare returns the state of the pod network, compared with the inventory. The texts are clean.
func (s *NetworkState) Compare(c *cluster.Cluster, done *engine.Report) networkstatus.Status {
	s.mu.Lock()
	found := networkstatus.Observed{Hosts: maps.Clone(s.hosts), Failures: map[string]networkstatus.Failure{}, Objects: networkstatus.Objects{Error: "no host could ask it"}}
	if s.objects != nil {
		found.Objects = *s.objects
	}
	s.mu.Unlock()
	for _, h := range done.Broken() {
		if h.RunOnce { // the task network_objects, which is of no host
			found.Objects.Error = h.Failure.Message
			continue
		}
		found.Failures[h.Host] = networkstatus.Failure{Reason: h.Failure.Message, Unreachable: h.Unreachable}
	}
	out := networkstatus.Compare(c, found)
	sanitize.Fields(&out)
	return out
}
