package nodes

import (
	"context"
	"fmt"
	"time"

	"deployer/keeper/maintenance/profile"
	"deployer/shortlist"
	"deployer/tasks/control/drain"
	"deployer/tasks/control/kube"
)

// DrainStep does one step of a drain that began at since, of a node that is cordoned, and returns the pods that are
// left, with reasons; empty when the node is drained. As in maintenance-controller, all pods leave but those of
// DaemonSets and static ones.
//
// Until EvictionTimeout it evicts. After that it deletes pods for DeletionTimeout, if Force permits it, and kills
// those that should have ended long ago. A drain that takes longer is an error at each step, and goes on.
func DrainStep(ctx context.Context, c *kube.Client, node string, d profile.Drain, since, now time.Time) (left string, err error) {
	o := drain.Options{DeleteEmptyDirData: true, Force: true}
	age := now.Sub(since)
	forced := d.Force && age >= d.EvictionTimeout
	if forced {
		o.DisableEviction = true
		if _, err := drain.KillOverdue(ctx, c, node, o, now); err != nil {
			return "", err
		}
	}
	pods, err := drain.Step(ctx, c, node, o)
	if err != nil || len(pods) == 0 {
		return "", err
	}
	left = shortlist.Texts(pods, 3)
	switch {
	case !forced && age >= d.EvictionTimeout+d.DeletionTimeout:
		return "", fmt.Errorf("pods are left %s after the drain began: %s", age.Round(time.Second), left)
	case forced && age >= d.EvictionTimeout+d.DeletionTimeout:
		return "", fmt.Errorf("pods are left %s after the drain began, though they were deleted: %s", age.Round(time.Second), left)
	}
	return "pods are left: " + left, nil
}
