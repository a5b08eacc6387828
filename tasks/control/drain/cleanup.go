package drain

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"deployer/engine"
	"deployer/tasks/control/kube"
)

// pledge has the engine uncordon a node should its host leave the run before its
// end. A dry run keeps none; it is where kube_uncordon sees what would have come.
func pledge(site engine.ActionContext, c *kube.Client, node string) {
	pledges, _ := engine.Service[*engine.Cleanups](site.Services())
	pledges.Register(site.Host(), engine.Cleanup{Name: pledgeOf(node), Run: func(ctx context.Context) (string, string) {
		return release(ctx, c, node)
	}})
}

func pledgeOf(node string) string { return "cordon of node " + node }

// settled drops the pending cleanup of a node, and reports whether there was one.
func settled(site engine.ActionContext, node string) bool {
	pledges, _ := engine.Service[*engine.Cleanups](site.Services())
	return pledges.Cancel(pledgeOf(node))
}

// aliveTime is how long a node has to show that it is alive: its kubelet renews
// its lease every 10 s.
const aliveTime = 20 * time.Second

// release uncordons a node that is alive. One that is not stays cordoned: pods
// must not be sent there.
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
