package keeper

import (
	"context"
	"sync"
	"time"

	"deployer/keeper/act"
	"deployer/keeper/decide"
	"deployer/keeper/observe"
	"deployer/keeper/world"
	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

const (
	// markInterval is the time between two renewals for a node in maintenance, that of kubelets
	// (nodeLeaseDurationSeconds is 40, of which they use a quarter).
	markInterval = 10 * time.Second
	// markTimeout is the maximum duration of one round. It is shorter than the lease of a node.
	markTimeout = 25 * time.Second
)

// marks keeps the nodes in maintenance alive while this keeper leads. It does not wait for passes: an
// action, such as the defragmentation of every member, takes longer than the 40 s after which Kubernetes
// takes a node for dead, and a pause of the keeper does not end the mark that a person has set.
type marks struct {
	mu   sync.Mutex
	with *renewing // nil while nothing may be renewed
}

// renewing is how nodes are renewed.
type renewing struct {
	kube     *kube.Client
	election *election
}

// use sets how nodes are renewed from now on; nil ends it.
func (m *marks) use(with *renewing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.with = with
}

func (m *marks) current() *renewing {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.with
}

// keepMarks renews nodes in maintenance until ctx ends.
func (k *Keeper) keepMarks(ctx context.Context) {
	for poll.Sleep(ctx, markInterval) == nil {
		if with := k.marks.current(); with != nil {
			if leading := with.election.leader(); leading != nil {
				k.renewMarked(leading, with.kube)
			}
		}
	}
}

// renewMarked renews the Leases of the nodes that have a mark now and whose hosts answer now.
func (k *Keeper) renewMarked(ctx context.Context, client *kube.Client) {
	ctx, cancel := context.WithTimeout(ctx, markTimeout)
	defer cancel()
	nodes, err := observe.Marked(ctx, client)
	if err != nil {
		k.options.Log.Error("nodes in maintenance cannot be listed", "error", err)
		return
	}
	observe.Reach(ctx, k.options.Dial, nodes, func(world.Node) bool { return true })
	now := time.Now()
	for _, n := range decide.Renew(world.World{Now: now, Nodes: nodes}) {
		if err := act.Renew(ctx, client, n, now); err != nil {
			k.options.Log.Error("a node in maintenance is not kept", "node", n.Name, "error", err)
		}
	}
}
