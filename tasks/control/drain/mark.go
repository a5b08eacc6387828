package drain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/tasks/control/kube"
)

// annotation is the annotation of a node that deployer has cordoned.
const annotation = "deployer/cordoned"

// Mark is the content of the annotation, for people who find a node cordoned.
type Mark struct {
	Run   string    `json:"run"`   // id of the run that cordoned the node
	Since time.Time `json:"since"` // by the controller's clock
}

// Cordon describes whether a node accepts pods, and who decided that.
type Cordon int

// The states of a node.
const (
	Open      Cordon = iota // it accepts pods
	Ours                    // deployer has cordoned it, in this run or one that was killed
	Foreign                 // somebody else has cordoned it
	Rebooting               // its own host has cordoned it before it went down; a drain takes the cordon over
)

// CordonOf returns the state of a node. The mark counts only while deployer is the one
// that made the node unschedulable: another user may have uncordoned and cordoned it since.
func CordonOf(node *corev1.Node) Cordon {
	_, marked := node.Annotations[annotation]
	_, rebooting := node.Annotations[RebootAnnotation]
	switch {
	case !node.Spec.Unschedulable:
		return Open
	case !marked && !rebooting || cordonedByOthers(node):
		return Foreign
	case marked:
		return Ours
	}
	return Rebooting
}

// CordonedBy returns the run of deployer that has cordoned a node; empty when the node
// accepts pods, or when another user has cordoned it.
func CordonedBy(ctx context.Context, c *kube.Client, name string) (run string, err error) {
	node, err := kube.GetNode(ctx, c, name)
	if err != nil || CordonOf(node) != Ours {
		return "", err
	}
	return runOf(node.Annotations[annotation]), nil
}

// CordonedNodes returns the names of the nodes that deployer has cordoned, in the order of
// the API.
func CordonedNodes(ctx context.Context, c *kube.Client) ([]string, error) {
	nodes, err := kube.ListAs[corev1.Node](ctx, c, kube.NodeKind(), "", v1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	var names []string
	for _, node := range nodes {
		if CordonOf(&node) == Ours {
			names = append(names, node.Name)
		}
	}
	return names, nil
}

// runOf returns the run that a mark names; "unknown" for a mark that people have changed.
func runOf(text string) string {
	var mark Mark
	if json.Unmarshal([]byte(text), &mark) != nil || mark.Run == "" {
		return "unknown"
	}
	return mark.Run
}

// cordonedByOthers reads from managedFields who set spec.unschedulable. The API server
// need not record it.
func cordonedByOthers(node *corev1.Node) bool {
	others := false
	for _, e := range node.ManagedFields {
		var fields struct {
			Spec map[string]any `json:"f:spec"`
		}
		if e.FieldsV1 == nil || json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if _, owns := fields.Spec["f:unschedulable"]; owns {
			if e.Manager == kube.Manager {
				return false
			}
			others = true
		}
	}
	return others
}

// markText returns the content of the annotation.
func markText(run string) (string, error) {
	text, err := json.Marshal(Mark{Run: run, Since: time.Now().UTC().Truncate(time.Second)})
	return string(text), err
}

// cordon makes the node unschedulable and marks it. cordon returns the earlier state.
func cordon(ctx context.Context, c *kube.Client, name, run string) (was Cordon, err error) {
	err = patch(ctx, c, name, func(node *corev1.Node) (map[string]any, error) {
		if was = CordonOf(node); was == Ours || was == Foreign {
			return nil, nil
		}
		mark, err := markText(run)
		return nodePatch(mark, true), err
	})
	return was, err
}

// open makes the node schedulable again if deployer cordoned it or force is set, and
// returns the earlier state. open removes an outdated mark of a schedulable node.
func open(ctx context.Context, c *kube.Client, name string, force bool) (was Cordon, err error) {
	err = patch(ctx, c, name, func(node *corev1.Node) (map[string]any, error) {
		was = CordonOf(node)
		if _, marked := node.Annotations[annotation]; (was == Foreign || was == Rebooting) && !force || was == Open && !marked {
			return nil, nil
		}
		return nodePatch(nil, nil), nil
	})
	return was, err
}

func nodePatch(mark, unschedulable any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{annotation: mark, RebootAnnotation: nil}},
		"spec":     map[string]any{"unschedulable": unschedulable},
	}
}

// patch changes a node, and retries when another client, often the kubelet, has changed
// it in between. make returns nil when nothing is to change.
func patch(ctx context.Context, c *kube.Client, name string, make func(*corev1.Node) (map[string]any, error)) error {
	for try := 1; ; try++ {
		node, err := kube.GetNode(ctx, c, name)
		if err != nil {
			return err
		}
		change, err := make(node)
		if err != nil || change == nil {
			return err
		}
		change["metadata"].(map[string]any)["resourceVersion"] = node.ResourceVersion
		text, err := json.Marshal(change)
		if err != nil {
			return err
		}
		_, err = c.Patch(ctx, kube.NodeKind(), "", name, text, kube.Manager)
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) || try == 10 {
			return fmt.Errorf("patching node %s: %w", name, err)
		}
	}
}
