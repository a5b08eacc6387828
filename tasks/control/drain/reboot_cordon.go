package drain

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"

	"deployer/tasks/control/kube"
)

// RebootAnnotation is the annotation of a node that its own host has cordoned before it went down.
const RebootAnnotation = "deployer/cordoned-for-reboot"

// RebootMark is the content of the annotation, for people who find a node cordoned. The host keeps a
// copy over the reboot.
type RebootMark struct {
	ID    string    `json:"id"`    // of the shutdown
	Since time.Time `json:"since"` // by the host's clock
}

// CordonForReboot cordons a node whose host goes down, and marks it. A node that somebody else has
// cordoned stays as it is; then done is false. A mark of an earlier shutdown is replaced.
func CordonForReboot(ctx context.Context, c *kube.Client, name string, mark RebootMark) (done bool, err error) {
	text, err := json.Marshal(mark)
	if err != nil {
		return false, err
	}
	err = patch(ctx, c, name, func(node *corev1.Node) (map[string]any, error) {
		was := CordonOf(node)
		if done = was == Open || was == Rebooting; !done {
			return nil, nil
		}
		return map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{RebootAnnotation: string(text)}},
			"spec":     map[string]any{"unschedulable": true},
		}, nil
	})
	return done, err
}

// Rebooted is what is to be done with a node whose host is up again.
type Rebooted int

// The results of [UncordonAfterReboot].
const (
	NotReady   Rebooted = iota // the node is not Ready in this boot yet: ask again later
	Uncordoned                 // the node accepts pods again
	NotOurs                    // another client has decided about the node since: it stays as it is
)

// UncordonAfterReboot uncordons a node that was cordoned by [CordonForReboot] with this id, when its
// kubelet has reported Ready since the boot with this boot id. The API shows Ready for up to 50 s after
// a kubelet has ended, so the boot id decides about the age of a report.
func UncordonAfterReboot(ctx context.Context, c *kube.Client, name, id, bootID string) (found Rebooted, err error) {
	err = patch(ctx, c, name, func(node *corev1.Node) (map[string]any, error) {
		if found = rebooted(node, id, bootID); found == NotReady {
			return nil, nil
		}
		marked := rebootMarkOf(node).ID == id
		if found == NotOurs && !marked {
			return nil, nil
		}
		change := map[string]any{"metadata": map[string]any{"annotations": map[string]any{RebootAnnotation: nil}}}
		if found == Uncordoned {
			change["spec"] = map[string]any{"unschedulable": nil}
		}
		return change, nil
	})
	return found, err
}

// rebooted decides about a node whose host has recorded the shutdown with this id.
func rebooted(node *corev1.Node, id, bootID string) Rebooted {
	switch {
	case CordonOf(node) != Rebooting || rebootMarkOf(node).ID != id:
		return NotOurs
	case node.Status.NodeInfo.BootID != bootID || !nodeReady(node):
		return NotReady
	}
	return Uncordoned
}

// rebootMarkOf returns the mark of a node; empty without one, or when people have changed it.
func rebootMarkOf(node *corev1.Node) (mark RebootMark) {
	if json.Unmarshal([]byte(node.Annotations[RebootAnnotation]), &mark) != nil {
		return RebootMark{}
	}
	return mark
}

func nodeReady(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
