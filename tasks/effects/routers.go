package effects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"deployer/engine"
	"deployer/shortlist"
	"deployer/tasks/bird"
	"deployer/tasks/checkresult"
)

// Router is a session with a router outside of the cluster.
type Router struct {
	Session string // name of BIRD's protocol
	State   string // state of the session; "not configured" when BIRD does not have it
}

// shownRouters bounds the sessions in a row.
const shownRouters = 5

// observeRouters returns the sessions with routers; an error of BIRD is the state of all of them.
func (c *Checks) observeRouters(ctx context.Context, sys engine.System) []Router {
	if len(c.Routers) == 0 {
		return nil
	}
	var sessions []bird.Session
	var failed error
	for _, socket := range c.Sockets {
		found, err := bird.Sessions(ctx, sys, socket)
		sessions, failed = append(sessions, found...), errors.Join(failed, err)
	}
	var out []Router
	for _, name := range c.Routers {
		r := Router{Session: name, State: "not configured"}
		if i := slices.IndexFunc(sessions, func(s bird.Session) bool { return s.Name == name }); i >= 0 {
			r.State = sessions[i].State
		} else if failed != nil {
			r.State = failed.Error()
		}
		out = append(out, r)
	}
	return out
}

// routers reports a node without any router. One that is down of several is no problem of the node.
func routers(found Observation) []checkresult.Row {
	var down []string
	for _, r := range found.Routers {
		if r.State != bird.Established {
			down = append(down, fmt.Sprintf("%s (%s)", r.Session, r.State))
		}
	}
	switch up := len(found.Routers) - len(down); {
	case up == 0:
		return []checkresult.Row{checkresult.Problem("look at the routers, and at deployer network status", "no session with a router is established: %s", shortlist.Names(down, shownRouters))}
	case len(down) > 0:
		return []checkresult.Row{checkresult.OK("%d of %d sessions with routers are established; not: %s", up, len(found.Routers), shortlist.Names(down, shownRouters))}
	default:
		return []checkresult.Row{checkresult.OK("%d sessions with routers are established", up)}
	}
}
