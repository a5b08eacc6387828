package bird

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/httpcheck"
	"deployer/tasks/staticpod"
	"deployer/tasks/unit"
)

// Ready waits until BIRD answers and has its state before a change again: every established
// session, unless it is no longer configured, and every route to a range that is still in
// use. Ready does not wait for sessions to hosts that join or are down.
type Ready struct {
	Before Before `yaml:"before" doc:"result of bird_status before the change; default none, and BIRD only has to answer"`
	// Restarted is for a change that BIRD reads later than this gate begins, such as a password.
	Restarted bool `yaml:"restarted" doc:"whether the sessions of before must have been restarted since then; default false"`
	// Sessions are for changes of the sessions themselves.
	Sessions []string `yaml:"sessions" rule:"word" doc:"names of BGP protocols that must be established; default: only those of before"`
	// A router that is down is no reason to end every later run.
	Routers []string `yaml:"routers" rule:"word" doc:"names of BGP protocols with routers outside of the cluster, of which those must be established that before did not have; where BIRD did not run before, one of them; default none"`
	Ranges  []string `yaml:"ranges" rule:"prefix" doc:"prefixes whose routes must exist as before; default: all of before"`
	Unit    string   `yaml:"unit" rule:"unit" doc:"unit of BIRD, whose log a failure shows; default deployer-bird.service"`
	Pod     string   `yaml:"manifest" rule:"path" doc:"manifest of the static pod that runs BIRD, whose log a failure shows, instead of unit; default none"`
	// Sockets are two with BIRD 1, which is a program for each family.
	Sockets []string      `yaml:"sockets" rule:"path" doc:"control sockets of BIRD; default /run/bird/bird.ctl"`
	Timeout time.Duration `yaml:"timeout" range:"0s.." doc:"maximum wait; default 1m"`
}

// Before is the output of bird_status.
type Before struct {
	Sessions []string `yaml:"sessions" rule:"word" doc:"names of the BGP protocols that were established"`
	Routes   []string `yaml:"routes" rule:"prefix" doc:"prefixes that the kernel sent to a gateway"`
	// Since is for changes that restart sessions.
	Since map[string]string `yaml:"since" rule:"line" keys:"word" doc:"time of the last change of each established BGP protocol"`
	// Configured is empty where BIRD did not run.
	Configured []string `yaml:"configured" rule:"word" doc:"names of all BGP protocols"`
}

var _ engine.Module = (*Ready)(nil)

// Gate returns the same wait without the state before, which the revert changes, and without routers.
func (r *Ready) Gate() any {
	gate := *r
	gate.Before, gate.Routers, gate.Restarted = Before{}, nil, false
	return &gate
}

const pollEvery = 250 * time.Millisecond

func (r *Ready) unit() string { return cmp.Or(r.Unit, "deployer-bird.service") }

// Check tests once. Check does not wait for a missing unit or manifest, as in a dry run and after a revert.
func (r *Ready) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	gone, err := r.gone(ctx, sys)
	if err != nil {
		return engine.Change{}, err
	}
	if gone || r.try(ctx, sys) == nil {
		return engine.NoChange(nil), nil
	}
	return engine.Change{Needed: true, Wait: true}, nil
}

// gone reports whether the host has no unit or static pod of BIRD.
func (r *Ready) gone(ctx context.Context, sys engine.System) (bool, error) {
	if r.Pod != "" {
		return !staticpod.Wanted(sys, r.Pod), nil
	}
	now, err := unit.Running(ctx, sys, r.unit())
	return now.Missing, err
}

// log returns the end of BIRD's log.
func (r *Ready) log(ctx context.Context, sys engine.System) string {
	if r.Pod != "" {
		return staticpod.Log(sys, r.Pod)
	}
	return unit.Journal(ctx, sys, r.unit())
}

// Apply waits.
func (r *Ready) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	began := time.Now()
	err := httpcheck.Poll(ctx, cmp.Or(r.Timeout, time.Minute), pollEvery, sys.Progress, func(ctx context.Context) error { return r.try(ctx, sys) })
	took := time.Since(began)
	if err != nil {
		return nil, &engine.Failure{
			Message: fmt.Sprintf("BIRD is not as it was before, %s after its change: %v", took.Round(time.Second), err),
			Detail:  r.log(ctx, sys),
		}
	}
	return engine.Output{"elapsed_seconds": took.Seconds()}, nil
}

// try tests once; the error names the missing sessions or routes.
func (r *Ready) try(ctx context.Context, sys engine.System) error {
	now := state{sessions: map[string]string{}, since: map[string]string{}}
	for _, socket := range sockets(r.Sockets) {
		found, err := Sessions(ctx, sys, socket)
		if err != nil {
			return err
		}
		now.add(found)
	}
	var err error
	if now.routes, err = routes(sys); err != nil {
		return err
	}
	return r.missing(now)
}

// named bounds how many sessions or routes a message names.
const named = 5

// missing compares the present state with the former one.
func (r *Ready) missing(now state) error {
	var down []string
	for _, name := range r.Before.Sessions {
		if said, configured := now.sessions[name]; configured && said != Established {
			down = append(down, fmt.Sprintf("%s (%s)", name, said))
		}
	}
	if len(down) > 0 {
		return fmt.Errorf("%d of %d sessions that were established are not: %s", len(down), len(r.Before.Sessions), shortlist.Names(down, named))
	}
	if r.Restarted {
		for _, name := range r.Before.Sessions {
			if since, configured := now.since[name]; configured && since == r.Before.Since[name] {
				down = append(down, name)
			}
		}
	}
	if len(down) > 0 {
		return fmt.Errorf("%d of %d sessions have not been restarted: %s", len(down), len(r.Before.Sessions), shortlist.Names(down, named))
	}
	for _, name := range r.Sessions {
		if said, configured := now.sessions[name]; said != Established {
			down = append(down, fmt.Sprintf("%s (%s)", name, cmp.Or(said, map[bool]string{true: "down", false: "not configured"}[configured])))
		}
	}
	if len(down) > 0 {
		return fmt.Errorf("%d of %d sessions are not established: %s", len(down), len(r.Sessions), shortlist.Names(down, named))
	}
	if err := r.routersDown(now); err != nil {
		return err
	}
	var lost []string
	for _, prefix := range r.Before.Routes {
		if (len(r.Ranges) == 0 || slices.Contains(r.Ranges, prefix)) && !slices.Contains(now.routes, prefix) {
			lost = append(lost, prefix)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("the kernel has lost %d of %d routes: %s", len(lost), len(r.Before.Routes), shortlist.Names(lost, named))
	}
	return nil
}

// routersDown returns an error that names the new sessions with routers that are not established.
func (r *Ready) routersDown(now state) error {
	var wanted, down []string
	for _, name := range r.Routers {
		if slices.Contains(r.Before.Configured, name) {
			continue
		}
		wanted = append(wanted, name)
		if said := now.sessions[name]; said != Established {
			down = append(down, fmt.Sprintf("%s (%s)", name, cmp.Or(said, "not configured")))
		}
	}
	enough := len(down) == 0
	if len(r.Before.Configured) == 0 {
		enough = enough || len(down) < len(wanted)
	}
	if enough {
		return nil
	}
	return fmt.Errorf("%d of %d new sessions with routers are not established: %s; look at the router's configuration for this node: its address, the numbers of both autonomous systems, the password; after wrong attempts, routers refuse others for minutes", len(down), len(wanted), shortlist.Names(down, named))
}
