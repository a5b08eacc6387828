package drain

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"deployer/engine"
	"deployer/tasks/control/kube"
)

// registerCleanup registers a cleanup that uncordons a node when its host leaves the run before
// its end. A dry run executes no cleanup; kube_uncordon reads there which one a run
// would have.
func registerCleanup(actx engine.ActionContext, c *kube.Client, node string) {
	cleanups, _ := engine.Service[*engine.Cleanups](actx.Services())
	cleanups.Register(actx.Host(), engine.Cleanup{Name: cleanupName(node), Run: func(ctx context.Context) (string, string) {
		return release(ctx, c, node)
	}})
}

func cleanupName(node string) string { return "cordon of node " + node }

// settled drops the pending cleanup of a node, and reports whether there was one.
func settled(actx engine.ActionContext, node string) bool {
	cleanups, _ := engine.Service[*engine.Cleanups](actx.Services())
	return cleanups.Cancel(cleanupName(node))
}

// aliveTime is the time in which a living node must show a renewal of its lease: its kubelet
// renews it every 10 s.
const aliveTime = 20 * time.Second

// release uncordons a node that is alive. release leaves a dead node cordoned, so that no
// pods are scheduled on it.
func release(ctx context.Context, c *kube.Client, name string) (done, left string) {
	node, err := kube.GetNode(ctx, c, name)
	switch {
	case apierrors.IsNotFound(err):
		return "", "" // its Node object was deleted, and the cordon with it
	case err != nil:
	case CordonOf(node) != Ours:
		return "", ""
	default:
		err = WaitAlive(ctx, c, name, aliveTime, func(string) {})
	}
	if err == nil {
		_, err = Uncordon(ctx, c, name, false)
	}
	if err != nil {
		return "", fmt.Sprintf("node %s is left cordoned: %v; once it is well: kubectl uncordon %s", name, err, name)
	}
	return fmt.Sprintf("node %s takes pods again", name), ""
}
