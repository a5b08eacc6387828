package runs

import (
	"slices"
	"sync"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/engine/journal"
)

// CertsList returns a run that reads the certificates of hosts and changes nothing. CertsList
// needs neither etcd nor the Kubernetes API.
func (c Runner) CertsList(o Options) (*Run, error) {
	o.Verb = journal.VerbCertsList
	return c.withoutArtifacts(o)
}

// CertsRenew returns a run that renews certificates.
func (c Runner) CertsRenew(o Options) (*Run, error) {
	o.Verb = journal.VerbCertsRenew
	return c.changingWithoutArtifacts(o)
}

// CertsRequests returns a run that writes requests for certificates of external authorities.
func (c Runner) CertsRequests(o Options) (*Run, error) {
	o.Verb = journal.VerbCertsRequests
	return c.changingWithoutArtifacts(o)
}

// changingWithoutArtifacts returns a run of a built-in playbook that changes hosts and
// downloads nothing.
func (c Runner) changingWithoutArtifacts(o Options) (*Run, error) {
	r, err := c.withoutArtifacts(o)
	if err != nil {
		return nil, err
	}
	r.logged, r.locks = true, true
	return r, nil
}

// withoutArtifacts returns a run of a built-in playbook that downloads nothing.
func (c Runner) withoutArtifacts(o Options) (*Run, error) {
	r, err := c.builtin(o)
	if err != nil {
		return nil, err
	}
	r.fetches = false
	return r, nil
}

// Certificates collects the certificates in the outputs of the task cert_check. Certificates is safe
// for concurrent use.
type Certificates struct {
	mu   sync.Mutex
	list []cluster.CertificateState
}

// Emit implements engine.Sink.
func (s *Certificates) Emit(e engine.Event) {
	if e.Type != engine.EventStepEnd || e.Result == nil || e.Result.Output["certificates"] == nil {
		return
	}
	var found struct {
		Certificates []cluster.CertificateState `json:"certificates"`
	}
	if e.Result.Output.Decode(&found) != nil {
		return // the output of another task
	}
	for i := range found.Certificates {
		found.Certificates[i].Host = e.Host
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, found.Certificates...)
}

// All returns the certificates, the worst first. Names, authorities and days are those of
// the cluster at a time.
func (s *Certificates) All(c *cluster.Cluster, now time.Time) []cluster.CertificateState {
	s.mu.Lock()
	list := slices.Clone(s.list)
	s.mu.Unlock()
	for i := range list {
		list[i] = list[i].Complete(c, now)
	}
	list = cluster.ForeignAuthorities(c, list)
	cluster.SortCertificates(c, list)
	return list
}
