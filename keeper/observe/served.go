package observe

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/keeper/world"
	"deployer/tasks/handshake"
)

// Served returns when the certificates that the kubelets of nodes serve expire, by the name of the node. A
// node that does not answer is left out.
func Served(ctx context.Context, dial Dial, nodes []world.Node) map[string]time.Time {
	out := map[string]time.Time{}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(reachAtOnce)
	for _, n := range nodes {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, reachTimeout)
			defer cancel()
			cert, err := handshake.Certificate(ctx, dial, net.JoinHostPort(n.Address, strconv.Itoa(kubeletPort)))
			if err != nil {
				return nil //nolint:nilerr // that the node does not answer is reported elsewhere
			}
			mu.Lock()
			defer mu.Unlock()
			out[n.Name] = cert.NotAfter
			return nil
		})
	}
	_ = group.Wait()
	return out
}
