package keeper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"deployer/engine/lock"
	"deployer/keeper/access"
	"deployer/keeper/act"
	"deployer/keeper/actionlog"
	"deployer/keeper/config"
	"deployer/keeper/decide"
	"deployer/keeper/observe"
	"deployer/keeper/status"
	"deployer/keeper/world"
)

// outcome is the result of a pass.
type outcome struct {
	idle     string // the reason why the keeper does nothing; empty when it may act
	standby  bool   // another keeper leads
	failed   bool
	nodes    int
	doing    []decide.Action
	problems []decide.Problem
	host     world.Own
	// snapshots are the times of the newest scheduled snapshots on the host.
	snapshots map[string]time.Time
}

// work observes, decides and acts: first for the host of the keeper, then for the cluster.
func (k *Keeper) work(ctx context.Context, file config.File) outcome {
	reads, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	pause, keepers, apiErr := status.Read(reads, k.access.Kube.WithRetryTimeout(-1))
	host, problems := k.look(reads, file)
	snapshots := observe.Snapshots(file.Own.Backups)
	if pause.Active(time.Now()) {
		return outcome{idle: pause.String(), problems: problems, host: host, snapshots: snapshots}
	}
	w := world.World{Now: time.Now(), Etcd: observe.Etcd(reads, k.access.Open, k.access.Members), Backups: backups(file, snapshots, keepers), RenewBefore: file.Own.RenewBefore}
	own := k.renewCertificates(ctx, file, host, apiErr)
	own.Add(k.rejoinEtcd(ctx, file, host, w))
	var out outcome
	if len(own.Actions) == 0 { // else what was observed is old
		out = k.forCluster(ctx, reads, file, w, apiErr)
	}
	out.doing = append(own.Actions, out.doing...)
	out.problems = slices.Concat(problems, decide.BlockedProblems(own), out.problems)
	out.host, out.snapshots = host, snapshots
	return out
}

// forCluster does the work for the whole cluster while this keeper leads. w has etcd and its backups.
func (k *Keeper) forCluster(ctx, reads context.Context, file config.File, w world.World, apiErr error) outcome {
	leading := k.election.leader()
	if leading == nil {
		k.forgetNodes()
		return k.follow(ctx, file, w, apiErr)
	}
	if apiErr != nil {
		return outcome{idle: apiErr.Error(), failed: true}
	}
	source := k.source(k.access, file)
	source.Nodes = k.watchNodes().Nodes
	w, err := source.Cluster(reads, file.Keeper, w)
	if err != nil {
		k.options.Log.Error("the cluster cannot be observed", "error", err)
		return outcome{idle: err.Error(), failed: true, problems: []decide.Problem{{Reason: decide.ClusterNotObserved, Message: err.Error()}}}
	}
	if err := k.observePostAdd(reads, file, &w); err != nil { // the rule does nothing then
		k.options.Log.Error("hooks for nodes that join do not run", "error", err)
	}
	if len(file.Keeper.Fence.Hooks) > 0 {
		if w.Fences, err = status.Fences(reads, k.access.Kube.WithRetryTimeout(-1), w.Now); err != nil {
			k.options.Log.Error("no machine is switched off", "error", err)
			file.Keeper.Fence.Hooks = nil
		}
	}
	k.readServed(reads, w.Nodes)
	requestsErr := k.readRequests(reads, file, &w)
	decision := decide.All(file.Keeper, w, k.history)
	if file.Keeper.DryRun {
		decision.Add(decide.DryRun(file.Keeper, w))
	}
	out := outcome{nodes: len(w.Nodes), problems: decide.Problems(file.Keeper, w, decision), doing: decision.Actions}
	if requestsErr != nil {
		out.problems = append(out.problems, decide.Problem{Reason: decide.CertificateRequestRefused, Message: "requests of nodes for certificates are not approved: " + requestsErr.Error()})
	}
	var maintain func(context.Context)
	if file.Keeper.Profiles+file.Keeper.Replacement != "" && !file.Keeper.DryRun {
		maintain = func(ctx context.Context) { out.problems = append(out.problems, k.passProfiles(ctx, file)...) }
	}
	out.idle = k.act(leading, file, out.doing, maintain)
	return out
}

// follow is the work of a keeper that does not lead. The lease of the leader is an object of the API, so
// nobody can lead while etcd is full and refuses writes: then the keepers free the space without a
// leader, each later than the one before it in the inventory.
func (k *Keeper) follow(ctx context.Context, file config.File, w world.World, apiErr error) outcome {
	if !w.Etcd.NoSpace {
		k.fullSince = time.Time{}
		if apiErr != nil {
			return outcome{idle: apiErr.Error(), failed: true}
		}
		return outcome{standby: true}
	}
	if k.fullSince.IsZero() {
		k.fullSince = w.Now
	}
	decision := decide.EtcdCare(file.Keeper.Etcd, w)
	out := outcome{problems: decide.Problems(file.Keeper, w, decision), doing: k.history.Fresh(decision.Actions, w.Now)}
	turn := time.Duration(max(0, slices.Index(file.Masters, file.Host))+1) * fullTurn
	if wait := turn - w.Now.Sub(k.fullSince); wait > 0 {
		out.doing, out.idle = nil, fmt.Sprintf("etcd is full; the turn of this keeper is in %s", wait.Round(time.Second))
		return out
	}
	out.idle = k.act(ctx, file, out.doing, nil)
	return out
}

// fullTurn is the time between the turns of the keepers when etcd is full. It is longer than
// leaseDuration, so that the leader knows that it leads no longer.
const fullTurn = time.Minute

// actionTimeout is the maximum duration of one action.
const actionTimeout = 30 * time.Minute

// act does the actions one after the other, and then the maintenance of nodes, which may be nil, while this
// keeper leads and holds the run lock of its host. It returns the reason when it must not act.
func (k *Keeper) act(leading context.Context, file config.File, actions []decide.Action, maintain func(context.Context)) (idle string) {
	if len(actions) == 0 && maintain == nil {
		return ""
	}
	if !file.Keeper.DryRun {
		verb := "keeper: maintenance of nodes"
		if len(actions) > 0 {
			verb = "keeper: " + string(actions[0].Kind) + " " + actions[0].Object.String()
		}
		if err := k.hold(file, verb, "deployer-keeper"); err != nil {
			return err.Error()
		}
		defer k.lock.Release()
	}
	actor := k.actor(k.access, file)
	for _, a := range actions {
		if leading.Err() != nil {
			return "another keeper leads"
		}
		k.one(leading, file, actor, a)
	}
	if maintain != nil && leading.Err() == nil {
		maintain(leading)
	}
	return ""
}

// hold takes the run lock of the host. It fails with a *lock.Held while a run has it.
func (k *Keeper) hold(file config.File, verb, by string) error {
	other, err := k.lock.Take(lock.Holder{Run: "keeper-" + file.Host, Verb: verb, By: by + "@" + file.Host, Since: time.Now()})
	if err != nil || other == nil {
		return err
	}
	return &lock.Held{Host: file.Host, By: *other}
}

// watchNodes returns the watch of nodes, which only the leader has.
func (k *Keeper) watchNodes() *observe.NodeWatch {
	if k.nodes == nil {
		k.nodes = observe.WatchNodes(k.access.Kube, k.options.Log)
	}
	return k.nodes
}

func (k *Keeper) forgetNodes() {
	k.nodes.Stop()
	k.nodes = nil
}

// source returns what observes the cluster by connections.
func (k *Keeper) source(a *access.Access, file config.File) observe.Source {
	return observe.Source{Kube: a.Kube, Dial: k.options.Dial, Open: a.Open, Members: a.Members, Masters: file.Masters,
		Nodes: func(ctx context.Context) ([]world.Node, error) { return observe.Nodes(ctx, a.Kube) }}
}

// actor returns what acts by connections.
func (k *Keeper) actor(a *access.Access, file config.File) act.Actor {
	return act.Actor{Cluster: file.Cluster, Settings: file.Keeper, Kube: a.Kube, Open: a.Open, Members: a.Members, Dial: k.options.Dial,
		Fencing: func(ctx context.Context, n world.Node) error {
			return status.AddFence(ctx, a.Kube, world.Fencing{Node: n.Name, UID: n.UID, At: time.Now().UTC().Truncate(time.Second)})
		},
		Progress: func(text string) { k.options.Log.Info(text) }, Renew: func(ctx context.Context, names []string) error { return k.renewal(file).Run(ctx, names) },
		Rejoin: func(ctx context.Context, member string, finish bool) error {
			r := k.member(file)
			if finish {
				return r.Finish(ctx)
			}
			return r.Run(ctx, member)
		}}
}

// one does one action and reports it.
func (k *Keeper) one(ctx context.Context, file config.File, actor act.Actor, a decide.Action) {
	ctx, cancel := context.WithTimeoutCause(ctx, actionTimeout, fmt.Errorf("timeout after %s", actionTimeout))
	defer cancel()
	k.history.Forget(time.Now())
	k.history[a.Key()] = time.Now()
	var e actionlog.Entry
	if file.Keeper.DryRun {
		e = entryOf(a, nil)
		e.Result = actionlog.ResultDryRun
	} else {
		e = entryOf(a, actor.Do(ctx, a))
	}
	switch {
	case a.Kind == decide.PostAdd:
		k.postAdds.note(a.Object.UID, e)
	case a.Kind == decide.Approve && !e.Failed():
		k.forgetRequest(a.Object.UID)
	}
	k.record(ctx, k.access.Kube, file.Host, a.Objects(), e)
}
