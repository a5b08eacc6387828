// Package bird reads the state of BIRD, which exchanges the routes to pods: the
// established sessions, and the routes in the kernel. The gate bird_ready compares
// both with the state before a change.
package bird

import (
	"context"
	"maps"
	"os"
	"slices"

	"deployer/engine"
	"deployer/tasks/iproutes"
)

// defaultSocket is the control socket of BIRD in deployer's unit.
const defaultSocket = "/run/bird/bird.ctl"

// Status reads the state of BIRD and changes nothing. A BIRD that does not run has
// no sessions.
type Status struct {
	// Sockets are two with BIRD 1, which is a program for each family.
	Sockets []string `yaml:"sockets" rule:"path" doc:"control sockets of BIRD; default /run/bird/bird.ctl"`
	// Gateways leave out the routes through addresses that no host has any more: BIRD keeps the
	// routes of a peer that has gone for some minutes.
	Gateways []string `yaml:"gateways" rule:"address" doc:"addresses that count as gateways of routes; default: all"`
}

var _ engine.Module = (*Status)(nil)

// ReadOnly reports that the module only reads.
func (*Status) ReadOnly() bool { return true }

// Check reads the state. The output has `sessions`, the names of the established BGP
// protocols, `since`, the time of the last change of each, `configured`, the names of all BGP protocols,
// and `routes`, the prefixes that the kernel routes to a gateway.
func (s *Status) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	now := state{sessions: map[string]string{}, since: map[string]string{}}
	for _, socket := range sockets(s.Sockets) {
		if _, err := os.Stat(sys.Path(socket)); err != nil {
			continue
		}
		// With an error BIRD is starting or stopping, so no session can be lost.
		if found, err := Sessions(ctx, sys, socket); err == nil {
			now.add(found)
		}
	}
	var err error
	if now.routes, err = routes(sys, s.Gateways...); err != nil {
		return engine.Change{}, err
	}
	return engine.NoChange(engine.Output{"sessions": now.established(), "since": now.sinceEstablished(), "configured": now.configured(), "routes": now.routes}), nil
}

// Apply is never needed.
func (*Status) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}

// state is the state of BIRD.
type state struct {
	sessions map[string]string // BGP protocol -> its state in the words of BIRD
	since    map[string]string // BGP protocol -> time of its last change, as BIRD prints it
	routes   []string          // prefixes, sorted
}

func (s *state) add(found []Session) {
	for _, one := range found {
		s.sessions[one.Name], s.since[one.Name] = one.State, one.Since
	}
}

// sinceEstablished returns the times of the established sessions.
func (s *state) sinceEstablished() map[string]any {
	out := map[string]any{}
	for _, name := range s.established() {
		out[name] = s.since[name]
	}
	return out
}

// Established is the state of a session that exchanges routes.
const Established = "Established"

func (s state) established() []string {
	names := []string{}
	for name, said := range s.sessions {
		if said == Established {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s state) configured() []string {
	return append([]string{}, slices.Sorted(maps.Keys(s.sessions))...)
}

// sockets returns the control sockets of BIRD.
func sockets(given []string) []string {
	if len(given) == 0 {
		return []string{defaultSocket}
	}
	return given
}

// StandbyMetric is the metric of the routes that the role standby-routes sets for the time in which
// BIRD may have none. They are in a table of their own, and the kernel lists the IPv6 routes of all
// tables as one.
const StandbyMetric = "4096"

// routes returns the prefixes of the kernel's routes that have a gateway,
// without the default route and standby routes, sorted. With gateways, only the routes through them
// count.
func routes(sys engine.System, gateways ...string) ([]string, error) {
	found, err := iproutes.Read(sys)
	if err != nil {
		return nil, err
	}
	all := []string{}
	for _, r := range found {
		// A link-local gateway is that of a router which has announced itself.
		if r.Gateway.IsUnspecified() || r.Gateway.IsLinkLocalUnicast() || r.To.Bits() == 0 || r.Metric == StandbyMetric {
			continue
		}
		if len(gateways) > 0 && !slices.Contains(gateways, r.Gateway.String()) {
			continue
		}
		all = append(all, r.To.String())
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
