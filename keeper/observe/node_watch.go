package observe

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"deployer/keeper/world"
	"deployer/tasks/control/kube"
	"deployer/tasks/poll"
)

// NodeWatch follows the nodes of a cluster. A pass that listed them would read some 10 kB for each node; of a watch
// come the changes alone, of which a healthy node has one in five minutes.
type NodeWatch struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	nodes  map[string]world.Node
	synced chan struct{} // closed while nodes has all of them
	err    error         // why the last watch ended
}

// watchAgain is the time after which a watch that has ended begins anew.
const watchAgain = 2 * time.Second

// WatchNodes follows the nodes until stop is called.
func WatchNodes(c *kube.Client, log *slog.Logger) *NodeWatch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &NodeWatch{cancel: cancel, done: make(chan struct{}), nodes: map[string]world.Node{}, synced: make(chan struct{})}
	go func() {
		defer close(w.done)
		for ctx.Err() == nil {
			err := kube.Follow(ctx, c, nodes(), nodesPage, kube.Follower[node]{Begin: w.begin, Set: w.set, Delete: w.remove, Synced: w.complete})
			if w.end(err); ctx.Err() == nil {
				log.Info("nodes are read again", "why", err)
				_ = poll.Sleep(ctx, watchAgain)
			}
		}
	}()
	return w
}

// Stop ends the watch. A nil watch has ended.
func (w *NodeWatch) Stop() {
	if w != nil {
		w.cancel()
		<-w.done
	}
}

// Nodes returns the nodes by their names. It waits until all are known, and fails with the reason when that is not so
// before ctx ends.
func (w *NodeWatch) Nodes(ctx context.Context) ([]world.Node, error) {
	w.mu.Lock()
	synced := w.synced
	w.mu.Unlock()
	select {
	case <-synced:
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.known() {
		return nil, cmp.Or(w.err, errors.New("the nodes are not known yet"))
	}
	return slices.SortedFunc(maps.Values(w.nodes), func(a, b world.Node) int { return cmp.Compare(a.Name, b.Name) }), nil
}

// begin forgets all nodes.
func (w *NodeWatch) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.nodes)
}

func (w *NodeWatch) set(n node) {
	read := readNode(&n)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[read.Name] = read
}

func (w *NodeWatch) remove(n node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.nodes, n.Metadata.Name)
}

// complete marks all nodes as known.
func (w *NodeWatch) complete() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = nil
	close(w.synced)
}

// end marks the nodes as not known, because of err.
func (w *NodeWatch) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	if w.known() {
		w.synced = make(chan struct{})
	}
}

// known reports whether all nodes are known.
func (w *NodeWatch) known() bool {
	select {
	case <-w.synced:
		return true
	default:
		return false
	}
}
