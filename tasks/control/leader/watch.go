// Package leader has the gate for the controller manager that holds the leader lease, after
// its API server was restarted.
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
// master's own API server. When that API server restarts, the controller manager retries the
// watch with a growing delay, up to 60 s after a second restart within two minutes (client-go,
// the backoff of a Reflector: 0.8 s doubled up to 30 s, and as much again at random). A leader
// that sees no renewal of a node's Lease for 50 s (--node-monitor-grace-period) declares the
// node NotReady. Therefore the action ends a leader that does not watch again soon; the
// controller manager of another master then becomes the leader and lists all objects again.
type Watch struct {
	Patience time.Duration `yaml:"patience" range:"0s.." doc:"Time for the controller manager to watch again by itself; default 15s. With a single master the action does nothing."`
	Timeout  time.Duration `yaml:"timeout" range:"0s.." doc:"Maximum wait for another leader; default 90s. The leader lease expires after 15 s."`

	observe func(ctx context.Context, actx engine.ActionContext) (state, error)
}

// NewWatch returns the action with its defaults.
func NewWatch() *Watch {
	return &Watch{Patience: 15 * time.Second, Timeout: 90 * time.Second, observe: observe}
}

// Gate returns the action itself: a revert restarts API servers, too.
func (w *Watch) Gate() any { return w }

const (
	// program is the name of the controller manager and of its Lease.
	program   = "kube-controller-manager"
	manifests = "/etc/kubernetes/manifests/"
	pollEvery = time.Second
)

// Check waits until the leader watches the Leases of nodes or another leader has taken over;
// in a dry run it does nothing. The output field `ended` is true when it has ended the
// controller manager of this host.
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
		return "the controller manager does not watch the Leases of nodes", now.watches || !strings.HasPrefix(leader, hostname+"_"), nil
	})
	if !errors.As(err, &late) || leader == "" {
		return engine.NoChange(engine.Output{"ended": false}), err
	}
	actx.Progress("the controller manager is the leader and does not watch this API server: ending it, so that another one becomes the leader")
	ended, err := end(ctx, actx)
	if err != nil {
		return engine.Change{}, fmt.Errorf("ending %s: %w", program, err)
	}
	if !ended {
		return engine.NoChange(engine.Output{"ended": false}), nil // it is younger than its API server's manifest
	}
	err = poll.Until(ctx, w.Timeout, pollEvery, func(ctx context.Context) (string, bool, error) {
		now, err := w.observe(ctx, actx)
		if err != nil {
			return "", false, poll.Later(err)
		}
		return "no other process is the leader yet", now.leader != "" && now.leader != leader, nil
	})
	if err != nil {
		return engine.Change{}, fmt.Errorf("after the end of %s, which did not watch its API server: %w", program, err)
	}
	return engine.NoChange(engine.Output{"ended": true}), nil
}

// Apply does nothing: Check never returns a needed change.
func (*Watch) Apply(context.Context, engine.ActionContext, engine.Change) (engine.Output, error) {
	return nil, nil
}

// restartTimeout exceeds 5 min, the kubelet's maximum delay before it restarts a container
// that has ended several times.
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
