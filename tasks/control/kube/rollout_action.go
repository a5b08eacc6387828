package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
)

// RolledOut is the action `kube_rollout`: a gate that opens when workloads are rolled
// out.
type RolledOut struct {
	Deployments []string      `yaml:"deployments" rule:"object" doc:"Deployments, as namespace/name."`
	DaemonSets  []string      `yaml:"daemonsets" rule:"object" doc:"DaemonSets, as namespace/name."`
	Available   float64       `yaml:"available" range:"0..1" doc:"Share of the wanted pods that must be available; default 1."`
	Timeout     time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait; default 5m."`
}

// NewRolledOut returns the action with its defaults.
func NewRolledOut() *RolledOut { return &RolledOut{Available: 1, Timeout: 5 * time.Minute} }

// Check waits until the workloads are rolled out. In a dry run it does nothing.
func (r *RolledOut) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	workloads, err := r.workloads()
	if err != nil || actx.CheckOnly() {
		return engine.Change{}, err
	}
	client, err := Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(nil), WaitRollouts(ctx, client, workloads, r.Available, r.Timeout, actx.Progress)
}

// Gate returns the action itself: a revert repeats the same wait.
func (r *RolledOut) Gate() any { return r }

// Apply does nothing: Check never returns a needed change.
func (r *RolledOut) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

func (r *RolledOut) workloads() ([]Workload, error) {
	var out []Workload
	for _, list := range []struct {
		names []string
		w     Workload
	}{{r.Deployments, Workload{Kind: DeploymentKind()}}, {r.DaemonSets, Workload{Kind: DaemonSetKind()}}} {
		for _, text := range list.names {
			namespace, name, ok := strings.Cut(text, "/")
			if !ok {
				return nil, fmt.Errorf("%q: write namespace/name", text)
			}
			list.w.Namespace, list.w.Name = namespace, name
			out = append(out, list.w)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("name a Deployment or DaemonSet to wait for")
	}
	return out, nil
}
