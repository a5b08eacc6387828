// Package kubelet has the gate for a kubelet after a (re)start: one process must renew
// the node's Lease twice. The condition Ready of the node is no proof: it stays true for
// 50 s after the kubelet has ended (--node-monitor-grace-period).
package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"deployer/cluster"
	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/control/kube"
	"deployer/tasks/httpcheck"
	"deployer/tasks/poll"
)

// Ready is the action `kubelet_ready`: a gate that opens when the kubelet of the host has
// renewed the Lease of its node.
type Ready struct {
	Name      string        `yaml:"name" rule:"node" doc:"Name of the node; default: the host."`
	Unit      string        `yaml:"unit" rule:"unit" doc:"Unit of the kubelet; default kubelet.service."`
	Timeout   time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait; default 90s. Two renewals take 10 s unless nodeLeaseDurationSeconds is changed."`
	MissingOK bool          `yaml:"missing_ok" doc:"Do not fail when the host has no such unit; default false."`
}

// NewReady returns the action with its defaults.
func NewReady() *Ready { return &Ready{Timeout: 90 * time.Second} }

// Gate returns the same wait for a revert, which may have removed the kubelet.
func (r *Ready) Gate() any {
	gate := *r
	gate.MissingOK = true
	return &gate
}

// pollEvery is the time between two observations; each costs one small request to the API
// and one to the host.
const pollEvery = time.Second

// Check waits until the kubelet is proved to work; in a dry run it does nothing. The output field
// `proved` is "lease" (two renewals by one process), "process" (no API server is
// reachable: the process has lived for 15 s), or "nothing" (the node has never joined
// the cluster, so nothing depends on it yet).
func (r *Ready) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	if actx.CheckOnly() {
		return engine.NoChange(nil), nil
	}
	g := &gate{actx: actx, node: cmp.Or(r.Name, actx.Host()), unit: cmp.Or(r.Unit, "kubelet.service")}
	g.read = func(ctx context.Context, node string) (lease, bool, error) {
		return readLease(ctx, kube.Open, actx, node)
	}
	began := time.Now()
	proved, err := g.wait(ctx, r.Timeout, r.MissingOK)
	if err != nil {
		return engine.Change{}, g.failure(ctx, err, time.Since(began))
	}
	return engine.NoChange(engine.Output{"proved": proved, "elapsed_seconds": time.Since(began).Seconds()}), nil
}

// Apply does nothing: Check never returns a needed change.
func (*Ready) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// Evidence of a working kubelet.
const (
	byLease   = "lease"
	byProcess = "process"
	byNothing = "nothing"
)

// gate is one wait.
type gate struct {
	actx       engine.ActionContext
	node, unit string
	read       func(ctx context.Context, node string) (l lease, noLease bool, unreachable error)

	seen     renewals
	reported string
}

func (g *gate) wait(ctx context.Context, timeout time.Duration, missingOK bool) (proved string, err error) {
	err = poll.Until(ctx, timeout, pollEvery, func(ctx context.Context) (string, bool, error) {
		state, by, err := g.observe(ctx, missingOK)
		proved = by
		if by == "" && err == nil && state != g.reported {
			g.reported = state
			g.actx.Progress("waiting: " + state)
		}
		return state, by != "", err
	})
	return proved, err
}

// observe reads the lease before the process: a process that started before the renewal of
// the lease, and still runs, has renewed it.
func (g *gate) observe(ctx context.Context, missingOK bool) (state, proved string, err error) {
	l, noLease, unreachable := g.read(ctx, g.node)
	if noLease {
		return "", byNothing, nil
	}
	p, err := readProcess(ctx, g.actx, g.actx.Host(), g.unit, false)
	if err != nil {
		return "", "", err
	}
	if p.missing() && missingOK {
		return "", byNothing, nil
	}
	if err := g.seen.follow(p); err != nil {
		if ended := (*endedError)(nil); errors.As(err, &ended) || p.Active == "failed" {
			return "", "", err
		}
		return err.Error(), "", nil
	}
	if unreachable == nil {
		if g.seen.observe(l) {
			return "", byLease, nil
		}
		state = fmt.Sprintf("process %d has renewed the lease of node %s %d of %d times", p.PID, g.node, g.seen.count, wantedRenewals)
		unreachable = g.localAPIError(ctx, l, p)
	}
	if unreachable == nil {
		return state, "", nil
	}
	if p.Now.Sub(p.Started) >= settle {
		return "", byProcess, nil
	}
	return fmt.Sprintf("process %d runs for %s; %v", p.PID, p.Now.Sub(p.Started).Round(time.Second), unreachable), "", nil
}

// localAPIError returns an error when a renewal is overdue and the node itself does not reach
// an API server, as with a broken local proxy that a later step repairs. The lease is then no
// evidence about the kubelet. When the node cannot be queried, the result is nil.
func (g *gate) localAPIError(ctx context.Context, l lease, p process) error {
	if p.Now.Sub(p.Started) < settle || p.Now.Sub(l.renewed) < 2*l.interval() {
		return nil
	}
	c, err := actionctx.Cluster(g.actx)
	if err != nil {
		return nil //nolint:nilerr // the lease then decides
	}
	local := httpcheck.Check{Name: "api", URL: c.API.Local + "/readyz", CA: cluster.CAPath(cluster.AuthorityCluster)}
	res, err := g.actx.RunOn(ctx, g.actx.Host(), "http_check", &httpcheck.Checks{Checks: []httpcheck.Check{local}})
	if err != nil || res.Failure != nil {
		return nil //nolint:nilerr // the lease then decides
	}
	if c := firstCheck(res.Output); c.OK != nil && !*c.OK {
		return fmt.Errorf("the node does not reach an API server: %s", c.Detail)
	}
	return nil
}

// checkResult is the result of one check in the output of the module http_check.
type checkResult struct {
	OK     *bool  `json:"ok"`
	Detail string `json:"detail"`
}

func firstCheck(out engine.Output) checkResult {
	var rows struct {
		Checks []checkResult `json:"checks"`
	}
	if out.Decode(&rows) != nil || len(rows.Checks) == 0 {
		return checkResult{}
	}
	return rows.Checks[0]
}

// failure returns err with the last error in the kubelet's log.
func (g *gate) failure(ctx context.Context, err error, after time.Duration) error {
	message := fmt.Sprintf("the kubelet on %s is not healthy after %s: %v", g.actx.Host(), tenths(after), err)
	p, unread := readProcess(context.WithoutCancel(ctx), g.actx, g.actx.Host(), g.unit, true)
	if unread != nil {
		return &engine.Failure{Message: message, Detail: unread.Error()}
	}
	if why := reason(p.Journal); why != "" {
		message += ": " + why
	}
	return &engine.Failure{Message: message, Detail: p.Journal}
}
