package target

import (
	"time"

	"deployer/engine/wire"
)

// keepalive is how often the connections of a run are tried, and after how long
// without a byte they are taken for lost: of the agents' frames, and below them of
// SSH.
type keepalive struct{ heartbeat, idleTimeout, sshInterval, sshIdleTimeout time.Duration }

// Up to manyHosts the defaults hold. Of more, all together are tried as often as
// that many, but each at most slowest times as rarely.
const (
	manyHosts   = 1000
	maxSlowdown = 10 // times the defaults
)

// keepaliveFor slows the heartbeats of a large run down. All of its hosts are connected
// for as long as it lasts, and that is longer the more they are: at one rate for
// all, heartbeats would take time that grows with the square of the hosts.
func keepaliveFor(hosts int) keepalive {
	slow := func(d time.Duration) time.Duration {
		return d * time.Duration(min(max(hosts, manyHosts), maxSlowdown*manyHosts)) / manyHosts
	}
	return keepalive{slow(wire.DefaultHeartbeat), slow(wire.DefaultIdleTimeout), slow(5 * time.Second), slow(15 * time.Second)}
}
