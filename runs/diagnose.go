package runs

import (
	"slices"

	"deployer/engine/journal"
)

// Diagnose returns a run that collects logs and states for finding the cause of a problem,
// on the hosts of the limit. Diagnose changes nothing, has no log and takes no run lock:
// it works at the same time as another run, one that hangs included. Diagnose needs no healthy API server. The
// variables in Extra are those of the playbook; diagnose_cluster is set here.
func (c Runner) Diagnose(o Options) (*Run, error) {
	o.Verb = journal.VerbDiagnose
	extra := map[string]any{"diagnose_cluster": true}
	for name, value := range o.Extra {
		extra[name] = value
	}
	o.Extra = extra
	r, err := c.withoutArtifacts(o)
	if err != nil {
		return nil, err
	}
	// Only the masters have the keys for requests to etcd and to the API.
	extra["diagnose_cluster"] = slices.ContainsFunc(r.Hosts, func(host string) bool { return r.Project.Cluster.Nodes[host].IsMaster })
	r.unlocked = true
	return r, nil
}
