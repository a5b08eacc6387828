// Package act does what the keeper has decided.
package act

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"deployer/cluster"
	"deployer/keeper/decide"
	"deployer/keeper/observe"
	"deployer/keeper/world"
	"deployer/tasks/control/etcd"
	"deployer/tasks/control/kube"
)

// Manager is the keeper as a field manager of Kubernetes.
const Manager = "deployer-keeper"

// Actor does actions.
type Actor struct {
	Cluster  string // name of the cluster
	Settings cluster.KeeperSpec
	Kube     *kube.Client
	Open     etcd.Opener
	Members  []etcd.Host
	Dial     observe.Dial // tries hosts before what cannot be undone
	Progress func(string)
	// Fencing records an attempt to switch off the machine of a node, before its hooks run.
	Fencing func(context.Context, world.Node) error
	// Renew renews certificates of the keeper's own host.
	Renew func(ctx context.Context, names []string) error
	// Rejoin makes the host a member of etcd anew, after it has removed the member with this ID; with finish it
	// makes a member vote that runs already.
	Rejoin func(ctx context.Context, member string, finish bool) error
}

// Do does one action and returns when it is done. An action that is repeated does what is left of it.
func (a Actor) Do(ctx context.Context, action decide.Action) error {
	switch action.Kind {
	case decide.ForceDelete:
		if err := a.unchanged(ctx, action.Node); err != nil {
			return err
		}
		now := int64(0)
		return a.Kube.DeletePod(ctx, pod(action.Object), &now)
	case decide.Delete:
		return a.Kube.DeletePod(ctx, pod(action.Object), nil)
	case decide.Purge:
		return a.purge(ctx, action)
	case decide.Fence:
		return a.fence(ctx, action)
	case decide.Unfence:
		return a.unfence(ctx, action)
	case decide.PostAdd:
		return a.postAdd(ctx, action)
	case decide.Scale:
		return a.patch(ctx, action.Object, map[string]any{"spec": map[string]any{"replicas": action.Replicas}})
	case decide.Patch:
		return a.patch(ctx, action.Object, a.Settings.Scale[action.Policy].Patch)
	case decide.RenewCertificates:
		return a.Renew(ctx, action.Certificates)
	case decide.RejoinEtcd:
		return a.Rejoin(ctx, action.Member, action.Finish)
	case decide.Approve:
		return a.approve(ctx, action)
	case decide.Defragment, decide.FreeSpace:
		_, _, err := etcd.Defragmentation{Pause: etcd.DefragPause, Timeout: etcd.DefragTimeout}.Run(ctx, a.Open, a.Members, a.Progress)
		return err
	}
	return fmt.Errorf("the keeper has no action %s", action.Kind)
}

// unchanged fails when a node is not as it was when the action was decided on: a node that reports again ends its pods
// itself. A node that is gone meanwhile changes nothing.
func (a Actor) unchanged(ctx context.Context, was world.Node) error {
	now, found, err := observe.Node(ctx, a.Kube, was.Name)
	switch {
	case err != nil:
		return err
	case !found:
		return nil
	case now.UID != was.UID:
		return fmt.Errorf("node %s is another one than a moment ago: nothing was done", was.Name)
	case now.Ready != was.Ready || !now.Since.Equal(was.Since):
		return fmt.Errorf("node %s has changed a moment ago, and is now Ready=%s: nothing was done", was.Name, now.Ready)
	case now.Maintenance.Active(time.Now()) && !was.Maintenance.Active(time.Now()):
		return fmt.Errorf("node %s is in maintenance since a moment ago: nothing was done", was.Name)
	}
	return nil
}

// silent fails when the host of a node answers that was silent: other actions took their time since.
func (a Actor) silent(ctx context.Context, was world.Node) error {
	if was.Reach == world.Silent && observe.Answers(ctx, a.Dial, was.Address) {
		return fmt.Errorf("the host of node %s answers since a moment ago: nothing was done", was.Name)
	}
	return nil
}

func pod(o decide.Object) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: v1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: types.UID(o.UID)}}
}

func (a Actor) patch(ctx context.Context, o decide.Object, patch map[string]any) error {
	gv, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return err
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	_, err = a.Kube.Patch(ctx, gv.WithKind(o.Kind), o.Namespace, o.Name, text, Manager)
	return err
}

// removalTimeout is the maximum wait until the quorum of etcd allows a removal.
const removalTimeout = 2 * time.Minute

// purge takes a node out of the cluster. Its Node is last, because a purge that is interrupted begins
// again from it.
func (a Actor) purge(ctx context.Context, action decide.Action) error {
	n := action.Node
	if err := a.unchanged(ctx, n); err != nil {
		return err
	}
	if err := a.silent(ctx, n); err != nil {
		return err
	}
	target := hookTarget{Node: n.Name, Address: n.Address, Cluster: a.Cluster}
	if err := runHooks(ctx, a.Settings.Purge.PreRemove, target.in("pre_remove")); err != nil {
		return fmt.Errorf("node %s stays: %w", n.Name, err)
	}
	if n.Etcd {
		others, leaving := []etcd.Host{}, etcd.Departing{Name: n.Name, Dead: true}
		for _, m := range a.Members {
			if m.Name == n.Name {
				leaving.PeerURL = m.PeerURL
			} else {
				others = append(others, m)
			}
		}
		if err := etcd.Remove(ctx, a.Open, others, leaving, removalTimeout, a.Progress); err != nil {
			return fmt.Errorf("removing etcd member %s: %w", n.Name, err)
		}
	}
	if err := a.Kube.Delete(ctx, kube.NodeKind(), "", n.Name, -1); err != nil {
		return fmt.Errorf("deleting Node %s: %w", n.Name, err)
	}
	if err := runHooks(ctx, a.Settings.Purge.PostRemove, target.in("post_remove")); err != nil {
		return fmt.Errorf("node %s has left: %w", n.Name, err)
	}
	return nil
}
