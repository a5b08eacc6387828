package observe

import (
	"context"
	"errors"
	"net"
	"strconv"
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

// Reach tries to connect to the kubelet of every node. A host that accepts or refuses the connection
// answers.
func Reach(ctx context.Context, dial Dial, nodes []world.Node) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(reachAtOnce)
	for i := range nodes {
		group.Go(func() error {
			nodes[i].Reach = reach(ctx, dial, nodes[i].Address)
			return nil
		})
	}
	_ = group.Wait()
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
