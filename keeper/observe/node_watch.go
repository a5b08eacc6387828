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

	mu      sync.Mutex
	nodes   map[string]world.Node
	all     bool          // nodes has all of them
	err     error         // why the last attempt ended
	changed chan struct{} // closed when an attempt has read all nodes, or has failed
}

// watchAgain is the time after which a watch that has ended begins anew: all nodes are read again then. It doubles up to
// watchAgainMax while watches end before they have lasted that long, such as where the right to watch is missing.
const (
	watchAgain    = 2 * time.Second
	watchAgainMax = time.Minute
)

// WatchNodes follows the nodes until stop is called.
func WatchNodes(c *kube.Client, log *slog.Logger) *NodeWatch {
	ctx, cancel := context.WithCancel(context.Background())
	w := &NodeWatch{cancel: cancel, done: make(chan struct{}), nodes: map[string]world.Node{}, changed: make(chan struct{})}
	go func() {
		defer close(w.done)
		for pause := watchAgain; ctx.Err() == nil; pause = min(2*pause, watchAgainMax) {
			began := time.Now()
			err := kube.Follow(ctx, c, nodes(), nodesPage, kube.Follower[node]{Begin: w.begin, Set: w.set, Delete: w.remove, Synced: w.complete})
			if w.end(err); ctx.Err() == nil {
				log.Info("nodes are read again", "why", err)
				if time.Since(began) > watchAgainMax {
					pause = watchAgain
				}
				_ = poll.Sleep(ctx, pause)
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

// Nodes returns the nodes by their names. While not all are known, it waits for the attempt to read them that is under
// way, and fails when that fails or ctx ends.
func (w *NodeWatch) Nodes(ctx context.Context) ([]world.Node, error) {
	w.mu.Lock()
	all, changed := w.all, w.changed
	w.mu.Unlock()
	if !all {
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.all {
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

// complete is called when all nodes are known.
func (w *NodeWatch) complete() { w.turn(true, nil) }

// end is called when an attempt has ended because of err.
func (w *NodeWatch) end(err error) { w.turn(false, err) }

func (w *NodeWatch) turn(all bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all, w.err = all, err
	close(w.changed)
	w.changed = make(chan struct{})
}
