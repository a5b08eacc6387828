package target

import (
	"time"

	"deployer/engine/protocol"
)

// keepalive has the intervals of heartbeats of agents and of keepalives of SSH, and the
// times without a received byte after which a connection counts as lost.
type keepalive struct{ heartbeat, idleTimeout, sshInterval, sshIdleTimeout time.Duration }

// The defaults apply to runs with up to manyHosts hosts. Above that, all times grow
// with the number of hosts, up to the factor maxSlowdown.
const (
	manyHosts   = 1000
	maxSlowdown = 10
)

// keepaliveFor returns the intervals for a run. A run with more hosts keeps more
// connections for a longer time; at constant intervals the cost of heartbeats would
// grow with the square of the number of hosts.
func keepaliveFor(hosts int) keepalive {
	slow := func(d time.Duration) time.Duration {
		return d * time.Duration(min(max(hosts, manyHosts), maxSlowdown*manyHosts)) / manyHosts
	}
	return keepalive{slow(protocol.DefaultHeartbeat), slow(protocol.DefaultIdleTimeout), slow(5 * time.Second), slow(15 * time.Second)}
}
