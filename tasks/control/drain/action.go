package drain

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"deployer/engine"
	"deployer/tasks/control/kube"
)

// Action is the action `kube_drain`.
type Action struct {
	Node               string         `yaml:"node" rule:"node" doc:"Node to drain; default: the host's own."`
	Timeout            time.Duration  `yaml:"timeout" range:"1ms.." doc:"Maximum duration of the drain, including the termination of pods; after it the node is uncordoned and the task fails. Default 10m; it cannot be unlimited."`
	GracePeriod        *time.Duration `yaml:"grace_period" range:"0s.." doc:"Termination grace period of each pod; 0s kills at once. Default: that of the pod."`
	DeleteEmptyDirData bool           `yaml:"delete_emptydir_data" doc:"Evict pods with emptyDir volumes too, whose data is lost; otherwise such pods are an error before any change. Default false."`
	Force              bool           `yaml:"force" doc:"Evict pods that no controller recreates too; otherwise such pods are an error before any change. Default false."`
	DisableEviction    bool           `yaml:"disable_eviction" doc:"Delete pods instead of evicting them, without regard to PodDisruptionBudgets. Default false."`
	PodSelector        string         `yaml:"pod_selector" rule:"own" doc:"Evict only pods with these labels, as in app!=database. Default: all."`
	MissingOK          bool           `yaml:"missing_ok" doc:"Do nothing when there is no such node. Default false."`
	SkipWaitForDelete  time.Duration  `yaml:"skip_wait_for_delete_timeout" range:"0s.." doc:"Do not wait for pods that have been terminating for longer than this, such as those of a dead kubelet. Default: wait for all."`
}

// NewAction returns the action with its defaults.
func NewAction() *Action { return &Action{Timeout: 10 * time.Minute} }

// Cancellable is true: a drain that is interrupted undoes its cordon.
func (*Action) Cancellable() bool { return true }

// Valid implements engine.Validator.
func (a *Action) Valid() error {
	if _, err := labels.Parse(a.PodSelector); err != nil {
		return fmt.Errorf("pod_selector %q is not a selector of labels such as app!=database: %w", a.PodSelector, err)
	}
	return nil
}

// Check reads the node and its pods. Nothing is needed when the node is cordoned and has
// no pods to evict.
func (a *Action) Check(ctx context.Context, actx engine.ActionContext) (engine.Change, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return engine.Change{}, err
	}
	s, err := ReadNode(ctx, client, nodeOf(a.Node, actx), a.options(actx))
	if a.MissingOK && apierrors.IsNotFound(err) {
		return engine.NoChange(engine.Output{"node": nodeOf(a.Node, actx), "evicted": 0, "was_cordoned": false}), nil
	}
	if err != nil {
		return engine.Change{}, err
	}
	if s.Cordon == Ours || actx.CheckOnly() && s.Cordon != Foreign {
		registerCleanup(actx, client, s.Node)
	}
	change := engine.Change{Output: engine.Output{"node": s.Node, "evicted": 0, "was_cordoned": s.Cordon == Foreign}}
	if s.Drained() {
		return change, nil
	}
	change.Needed, change.Effects = true, []engine.Effect{a.effect(s)}
	return change, nil
}

// BlockedMark is in a line of the diff of a drain between a pod and the reason why it cannot leave
// now, in parentheses.
const BlockedMark = "  ("

func (a *Action) effect(s *NodeState) engine.Effect {
	what := "cordon and drain"
	if a.DisableEviction {
		what += ", by deleting pods past their disruption budgets"
	}
	var diff strings.Builder
	for i := range s.Pods {
		name := nameOf(&s.Pods[i])
		fmt.Fprintf(&diff, "-%s: %s", s.Node, name)
		if why := cmp.Or(s.BlockedBy[name], held(&s.Pods[i])); why != "" {
			fmt.Fprintf(&diff, BlockedMark+"%s)", why)
		}
		diff.WriteByte('\n')
	}
	return engine.Effect{Kind: engine.EffectDrain, Target: targetOf(a.Node), Action: what, Diff: diff.String()}
}

// Apply drains. The output has node, evicted (how many pods) and was_cordoned
// (by another user, before).
func (a *Action) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	client, err := kube.Open(ctx, actx)
	if err != nil {
		return nil, err
	}
	name := nodeOf(a.Node, actx)
	if a.DisableEviction {
		actx.Progress("pods of node " + name + " are deleted, whatever their PodDisruptionBudgets say: disable_eviction is set")
	}
	registerCleanup(actx, client, name)
	done, err := Drain(ctx, client, name, a.options(actx), actx.Progress)
	if err != nil {
		return nil, err
	}
	return engine.Output{"node": name, "evicted": done.Evicted, "was_cordoned": done.Was == Foreign}, nil
}

func (a *Action) options(actx engine.ActionContext) Options {
	return Options{
		Run: actx.RunID(), Timeout: a.Timeout, GracePeriod: a.GracePeriod, DeleteEmptyDirData: a.DeleteEmptyDirData, Force: a.Force,
		DisableEviction: a.DisableEviction, PodSelector: a.PodSelector, SkipWaitForDelete: a.SkipWaitForDelete,
	}
}

func nodeOf(name string, actx engine.ActionContext) string {
	if name != "" {
		return name
	}
	return actx.Host()
}

// targetOf returns the same text for all hosts that drain their own node, so that plans
// show one effect.
func targetOf(name string) string {
	if name != "" {
		return "node " + name
	}
	return "the node"
}
