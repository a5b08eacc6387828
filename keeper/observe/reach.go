package observe

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"deployer/keeper/world"
)

// Dial opens a connection.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

const (
	// kubeletPort is the port of kubelets; a host refuses connections to it while its kubelet is away.
	kubeletPort = 10250
	// reachTimeout is the time within which a host answers.
	reachTimeout = 3 * time.Second
	// reachAtOnce is the number of hosts that are tried at one time.
	reachAtOnce = 64
)

// Reach tries to connect to the kubelets of the nodes that are asked for. A host that accepts or refuses the connection
// answers.
func Reach(ctx context.Context, dial Dial, nodes []world.Node, asked func(world.Node) bool) {
	var group errgroup.Group
	group.SetLimit(reachAtOnce)
	for i := range nodes {
		if asked(nodes[i]) {
			group.Go(func() error {
				nodes[i].Reach = reach(ctx, dial, nodes[i].Address)
				return nil
			})
		}
	}
	_ = group.Wait()
}

// Majority tries to connect to nodes that were not tried yet, in any order, until a majority of all has answered.
func Majority(ctx context.Context, dial Dial, nodes []world.Node) {
	var answered atomic.Int64
	var rest []int
	for i, n := range nodes {
		switch n.Reach {
		case world.Answers:
			answered.Add(1)
		case world.NotTried:
			rest = append(rest, i)
		}
	}
	rand.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	var group errgroup.Group
	group.SetLimit(reachAtOnce)
	for _, i := range rest {
		if 2*answered.Load() > int64(len(nodes)) {
			break
		}
		group.Go(func() error {
			if nodes[i].Reach = reach(ctx, dial, nodes[i].Address); nodes[i].Reach == world.Answers {
				answered.Add(1)
			}
			return nil
		})
	}
	_ = group.Wait()
}

// Answers reports whether the host with this address answers now.
func Answers(ctx context.Context, dial Dial, address string) bool {
	return reach(ctx, dial, address) == world.Answers
}

func reach(ctx context.Context, dial Dial, address string) world.Reach {
	if address == "" {
		return world.NotTried
	}
	limited, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	conn, err := dial(limited, "tcp", net.JoinHostPort(address, strconv.Itoa(kubeletPort)))
	switch {
	case err == nil:
		_ = conn.Close()
		return world.Answers
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ECONNRESET):
		return world.Answers
	case ctx.Err() != nil:
		return world.NotTried
	}
	return world.Silent
}
