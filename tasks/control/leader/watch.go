// Package leader has the gate for the controllers that lead, after their API server was
// restarted.
package leader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/control/actionctx"
	"deployer/tasks/poll"
	"deployer/tasks/staticpod"
)

// Watch is the action `leader_watches`. The controller manager of a master watches the
// master's own API server. When that restarts, it tries again after ever longer waits, up
// to 60 s after a second restart within two minutes (client-go, the backoff of a
// Reflector: 0.8 s doubled up to 30 s, and as much again at random). A controller manager
// that leads and sees no Lease of a node for 50 s (--node-monitor-grace-period) declares
// all nodes NotReady. So one that leads and does not watch again soon ends, and that of
// another master leads, which reads everything anew.
type Watch struct {
	Patience time.Duration `yaml:"patience" doc:"Time for the controller manager to watch again by itself; default 15s. Not waited where no other master can lead."`
	Timeout  time.Duration `yaml:"timeout" doc:"Maximum wait for another leader; default 90s. A Lease ends after 15 s."`

	observe func(ctx context.Context, actx engine.ActionContext) (state, error)
}

// NewWatch returns the action with its defaults.
func NewWatch() *Watch {
	return &Watch{Patience: 15 * time.Second, Timeout: 90 * time.Second, observe: observe}
}

// Gate returns the same: a revert restarts API servers as well.
func (w *Watch) Gate() any { return w }

const (
	// program is the controller manager, of which the Lease has the name too.
	program   = "kube-controller-manager"
	manifests = "/etc/kubernetes/manifests/"
	pollEvery = time.Second
)

// Check waits, except in a dry run. The output's `ended` is true when the controller
// manager of this host was ended.
func (w *Watch) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	c, err := actionctx.Cluster(actx)
	if err != nil || actx.CheckOnly() || len(c.Masters) < 2 {
		return engine.NoChange(engine.Output{"ended": false}), err
	}
	facts, _ := actx.Vars()["facts"].(map[string]any)
	hostname, _ := facts["hostname"].(string)
	leader, late := "", (*poll.TimeoutError)(nil)
	err = poll.Until(ctx, w.Patience, pollEvery, func(ctx context.Context) (string, bool, error) {
		now, err := w.observe(ctx, actx)
		if err != nil {
			return "", false, poll.Later(err)
		}
		leader = now.leader
		// An identity is the host name, "_", and a UUID (kubernetes, cmd/kube-controller-manager/app).
		return "it does not watch the nodes' leases", now.watches || !strings.HasPrefix(leader, hostname+"_"), nil
	})
	if !errors.As(err, &late) || leader == "" {
		return engine.NoChange(engine.Output{"ended": false}), err
	}
	actx.Progress("the controller manager leads and does not watch this API server: it ends, and another one leads")
	ended, err := end(ctx, actx)
	if err != nil {
		return engine.Change{}, fmt.Errorf("ending %s: %w", program, err)
	}
	if !ended {
		return engine.NoChange(engine.Output{"ended": false}), nil // it has just started
	}
	err = poll.Until(ctx, w.Timeout, pollEvery, func(ctx context.Context) (string, bool, error) {
		now, err := w.observe(ctx, actx)
		if err != nil {
			return "", false, poll.Later(err)
		}
		return "no other process leads yet", now.leader != "" && now.leader != leader, nil
	})
	if err != nil {
		return engine.Change{}, fmt.Errorf("after the end of %s, which did not watch its API server: %w", program, err)
	}
	return engine.NoChange(engine.Output{"ended": true}), nil
}

// Apply is never called.
func (*Watch) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// restartTimeout is above the 5 min for which the kubelet waits at most before it starts a
// container that has ended several times.
const restartTimeout = 6 * time.Minute

// end ends the controller manager of this host, unless it is younger than the manifest of
// its API server.
func end(ctx context.Context, actx engine.ActionContext) (ended bool, err error) {
	result, err := actx.RunOn(ctx, actx.Host(), "static_pod_reload", &staticpod.Reload{
		Manifest: manifests + program + ".yaml", Files: []string{manifests + "kube-apiserver.yaml"}, Signal: "TERM", Timeout: restartTimeout, MissingOK: true,
	})
	if err == nil && result.Failure != nil {
		err = result.Failure
	}
	return result.Status == engine.StatusChanged, err
}
