package etcd

import (
	"context"
	"fmt"
	"slices"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
)

// Replacement is the action `etcd_replacement`: it decides with [cluster.PlanEtcdReplacement]
// whether a new member may take the place of the host's member, and changes nothing. Replacement
// fails when it may not, and when an etcd host has left the run.
//
// Output: remove_id (empty when the cluster lists no member for the host), serves,
// learner, archive, and others, the names of the members that stay.
type Replacement struct {
	Target `yaml:",inline"`
	Found  string `yaml:"found" rule:"variable" doc:"Name under which the host registered whether it has data (a stat of the member directory)." required:"true"`
}

// ReadOnly is true: a decision changes nothing.
func (*Replacement) ReadOnly() bool { return true }

// Check decides.
func (r *Replacement) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	self, hosts, err := r.place(actx)
	if err != nil {
		return engine.Change{}, err
	}
	found := actionctx.Registered(actx, self.Name, r.Found)
	if found == nil {
		return engine.Change{}, fmt.Errorf("deciding about etcd: %s did not report whether etcd has data (%q)", self.Name, r.Found)
	}
	for _, h := range hosts { // each takes part in etcd_plan behind the removal
		if !slices.Contains(actx.Targets(), h.Name) {
			return engine.Change{}, fmt.Errorf("the etcd member of %s is not replaced: etcd host %s cannot be reached", self.Name, h.Name)
		}
	}
	open, err := r.opener(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	live := Take(ctx, open, hosts).Live()
	exists, _ := found["exists"].(bool)
	plan, err := cluster.PlanEtcdReplacement(cluster.EtcdProbe{Name: self.Name, PeerURL: self.PeerURL, Reachable: true, HasData: exists}, live)
	if err != nil {
		return engine.Change{}, fmt.Errorf("the etcd member of %s is not replaced: %w", self.Name, err)
	}
	others := []any{}
	for _, m := range slices.DeleteFunc(live.Members, func(m cluster.LiveMember) bool { return m.ID == plan.RemoveID }) {
		others = append(others, m.Name)
	}
	return engine.NoChange(engine.Output{
		"remove_id": formatID(plan.RemoveID), "serves": plan.Serves, "learner": plan.Learner, "archive": plan.Archive, "others": others,
	}), nil
}

// Apply is never called.
func (*Replacement) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}
