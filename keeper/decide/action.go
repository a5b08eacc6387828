// Package decide has the rules of the keeper: from what it knows of a cluster to what it does. The
// rules read and write nothing.
package decide

import (
	"fmt"
	"strings"
	"time"

	"deployer/keeper/world"
)

// Kind is a kind of action.
type Kind string

// The kinds of actions.
const (
	ForceDelete Kind = "ForceDeletePod" // of a pod whose node is gone
	Delete      Kind = "DeletePod"      // of a pod with a stuck container
	Purge       Kind = "PurgeNode"
	Fence       Kind = "FenceNode"       // switches off the machine of a node that is gone
	Unfence     Kind = "UnfenceNode"     // lets it take pods again
	PostAdd     Kind = "RunPostAddHooks" // of a node that joined
	Scale       Kind = "Scale"
	Patch       Kind = "Patch"
	Defragment  Kind = "DefragmentEtcd"
	FreeSpace   Kind = "FreeEtcdSpace"
	Approve     Kind = "ApproveCertificateRequest" // of a node, for one of its certificates

	// Of the keeper's own host.
	RenewCertificates Kind = "RenewCertificates"
	RejoinEtcd        Kind = "RejoinEtcd"
)

// Action is something that the keeper does to one object.
type Action struct {
	Kind Kind
	// Object is what the action is done to: a pod, a node, an object with replicas, or the etcd cluster.
	Object Object
	// Hosts are those whose members of etcd Defragment and FreeSpace rewrite.
	Hosts []string
	Node  world.Node // of ForceDelete, Purge, PostAdd, Fence, Unfence and Approve
	// Replicas is the number that Scale sets.
	Replicas int
	// Policy is the index of the setting that the action follows, of Scale and Patch.
	Policy int
	// Certificates are the names of those that RenewCertificates renews; none when only processes restart.
	Certificates []string
	// Member is the ID in hexadecimal of the member that RejoinEtcd removes; empty when there is none. Finish is
	// true when a new member runs already and only has to vote.
	Member string
	Finish bool
	// Why is the reason, in words.
	Why string
}

// long reports whether the action takes minutes: a defragmentation waits between members, the others for hooks, a
// purge also for the quorum of etcd.
func (a Action) long() bool {
	return a.Kind == Defragment || a.Kind == FreeSpace || a.Kind == Purge || a.Kind == Fence
}

// Object names an object of Kubernetes, or etcd.
type Object struct {
	APIVersion, Kind, Namespace, Name, UID string
}

// String returns the object as kubectl names it: pod default/web-1.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// String describes the action in one line.
func (a Action) String() string { return fmt.Sprintf("%s %s: %s", a.Kind, a.Object, a.Why) }

// Objects returns the objects of Kubernetes that the action is about. etcd is none: these are the nodes of its
// members.
func (a Action) Objects() []Object {
	switch {
	case a.Kind == Approve: // the request is removed soon
		return []Object{a.Object, nodeObject(a.Node)}
	case a.Object != etcdObject:
		return []Object{a.Object}
	}
	out := make([]Object, len(a.Hosts))
	for i, host := range a.Hosts {
		out[i] = NodeNamed(host)
	}
	return out
}

// Key identifies what the action is done to; equal keys are the same work.
func (a Action) Key() string {
	return string(a.Kind) + "/" + a.Object.String() + "/" + a.Object.UID + "/" + strings.Join(a.Certificates, ",")
}

// Blocked is something that the keeper would do, and the reason why it does not.
type Blocked struct {
	What string // such as "purge node n3"
	Why  string
}

// Decision is the result of all rules.
type Decision struct {
	Actions []Action
	Blocked []Blocked
}

// Add adds another decision.
func (d *Decision) Add(other Decision) {
	d.Actions = append(d.Actions, other.Actions...)
	d.Blocked = append(d.Blocked, other.Blocked...)
}

func (d *Decision) do(a Action) { d.Actions = append(d.Actions, a) }

func (d *Decision) block(what, format string, args ...any) {
	d.Blocked = append(d.Blocked, Blocked{what, fmt.Sprintf(format, args...)})
}

// History is when the keeper did things, by [Action.Key].
type History map[string]time.Time

// again is the time after which the keeper repeats an action that had no effect, such as the deletion
// of a pod that a finalizer keeps.
const again = 5 * time.Minute

// Fresh returns the actions that the keeper has not just done.
func (h History) Fresh(actions []Action, now time.Time) []Action {
	var out []Action
	for _, a := range actions {
		if h.fresh(a, now) {
			out = append(out, a)
		}
	}
	return out
}

func (h History) fresh(a Action, now time.Time) bool {
	last, done := h[a.Key()]
	return !done || now.Sub(last) >= again
}

// Forget removes entries that [History.Fresh] does not need any more.
func (h History) Forget(now time.Time) {
	for key, last := range h {
		if now.Sub(last) >= again {
			delete(h, key)
		}
	}
}

func podObject(p world.Pod) Object {
	return Object{APIVersion: "v1", Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID}
}

func nodeObject(n world.Node) Object {
	return Object{APIVersion: "v1", Kind: "Node", Name: n.Name, UID: n.UID}
}

// NodeNamed returns a node of which only the name is known.
func NodeNamed(name string) Object { return Object{APIVersion: "v1", Kind: "Node", Name: name} }

// short formats a duration to the second.
func short(d time.Duration) string { return d.Round(time.Second).String() }
