package reach

import (
	"time"

	"deployer/engine/wire"
)

// pulse is how often the connections of a run are tried, and after how long
// without a byte they are taken for lost: of the agents' frames, and below them of
// SSH.
type pulse struct{ beat, silence, sshBeat, sshSilence time.Duration }

// Up to manyHosts the defaults hold. Of more, all together are tried as often as
// that many, but each at most slowest times as rarely.
const (
	manyHosts = 1000
	slowest   = 10 // times the defaults
)

// pulseOf slows the heartbeats of a large run down. All of its hosts are connected
// for as long as it lasts, and that is longer the more they are: at one rate for
// all, heartbeats would take time that grows with the square of the hosts.
func pulseOf(hosts int) pulse {
	slow := func(d time.Duration) time.Duration {
		return d * time.Duration(min(max(hosts, manyHosts), slowest*manyHosts)) / manyHosts
	}
	return pulse{slow(wire.DefaultHeartbeat), slow(wire.DefaultIdleTimeout), slow(5 * time.Second), slow(15 * time.Second)}
}
