// Package kubelet has the gate for a kubelet after a (re)start: the same process must
// renew the node's Lease twice. The condition Ready of the node is no proof, since it
// outlives the kubelet by 50 s.
package kubelet

import (
	"cmp"
	"context"
	"encoding/json"
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

// Ready is the action `kubelet_ready`.
type Ready struct {
	Name      string        `yaml:"name" doc:"Name of the node; default: the host."`
	Unit      string        `yaml:"unit" doc:"Unit of the kubelet; default kubelet.service."`
	Timeout   time.Duration `yaml:"timeout" doc:"Maximum wait; default 90s. Two renewals take 10 s unless nodeLeaseDurationSeconds is changed."`
	MissingOK bool          `yaml:"missing_ok" doc:"Do not fail when the host has no such unit; default false."`
}

// NewReady returns the action with its defaults.
func NewReady() *Ready { return &Ready{Timeout: 90 * time.Second} }

// Gate repeats the wait after a revert, when the kubelet may be gone.
func (r *Ready) Gate() any {
	gate := *r
	gate.MissingOK = true
	return &gate
}

// pollEvery is the time between two observations; each is a small request to the API and
// one to the host.
const pollEvery = time.Second

// Check waits until the kubelet is proved to work, except in a dry run. The output field
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

// Apply is never called.
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
	read       func(ctx context.Context, node string) (l lease, never bool, silent error)

	seen renewals
	said string
}

func (g *gate) wait(ctx context.Context, timeout time.Duration, missingOK bool) (proved string, err error) {
	err = poll.Until(ctx, timeout, pollEvery, func(ctx context.Context) (string, bool, error) {
		state, by, err := g.look(ctx, missingOK)
		proved = by
		if by == "" && err == nil && state != g.said {
			g.said = state
			g.actx.Progress("waiting: " + state)
		}
		return state, by != "", err
	})
	return proved, err
}

// look reads the lease before the process: a process that started before the renewal of
// the lease, and still runs, has renewed it.
func (g *gate) look(ctx context.Context, missingOK bool) (state, proved string, err error) {
	l, never, silent := g.read(ctx, g.node)
	if never {
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
	if silent == nil {
		if g.seen.observe(l) {
			return "", byLease, nil
		}
		state = fmt.Sprintf("process %d has renewed the lease of node %s %d of %d times", p.PID, g.node, g.seen.count, wantedRenewals)
		silent = g.noWay(ctx, l, p)
	}
	if silent == nil {
		return state, "", nil
	}
	if p.Now.Sub(p.Started) >= settle {
		return "", byProcess, nil
	}
	return fmt.Sprintf("process %d runs for %s; %v", p.PID, p.Now.Sub(p.Started).Round(time.Second), silent), "", nil
}

// noWay checks whether the node itself reaches an API server, once a renewal is overdue.
// When it does not, as with a broken local proxy that a later step repairs, the lease is
// no evidence about the kubelet.
func (g *gate) noWay(ctx context.Context, l lease, p process) error {
	if p.Now.Sub(p.Started) < settle || p.Now.Sub(l.renewed) < 2*l.interval() {
		return nil
	}
	c, err := actionctx.Cluster(g.actx)
	if err != nil {
		return nil //nolint:nilerr // the lease then decides
	}
	local := httpcheck.Named{Name: "api", URL: c.API.Local + "/readyz", CA: cluster.CAPath(cluster.AuthorityCluster)}
	res, err := g.actx.RunOn(ctx, g.actx.Host(), "http_check", &httpcheck.Checks{Checks: []httpcheck.Named{local}})
	if err != nil || res.Failure != nil {
		return nil //nolint:nilerr // the lease then decides
	}
	if row := firstRow(res.Output); row.OK != nil && !*row.OK {
		return fmt.Errorf("the node does not reach an API server: %s", row.Detail)
	}
	return nil
}

type row struct {
	OK     *bool  `json:"ok"`
	Detail string `json:"detail"`
}

func firstRow(out engine.Output) row {
	var rows struct {
		Checks []row `json:"checks"`
	}
	raw, err := json.Marshal(out)
	if err != nil || json.Unmarshal(raw, &rows) != nil || len(rows.Checks) == 0 {
		return row{}
	}
	return rows.Checks[0]
}

// failure adds the kubelet's last error in its log.
func (g *gate) failure(ctx context.Context, err error, after time.Duration) error {
	message := fmt.Sprintf("the kubelet on %s is not well after %s: %v", g.actx.Host(), tenths(after), err)
	p, unread := readProcess(context.WithoutCancel(ctx), g.actx, g.actx.Host(), g.unit, true)
	if unread != nil {
		return &engine.Failure{Message: message, Detail: unread.Error()}
	}
	if why := reason(p.Journal); why != "" {
		message += ": " + why
	}
	return &engine.Failure{Message: message, Detail: p.Journal}
}
