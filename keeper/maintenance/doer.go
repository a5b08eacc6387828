package maintenance

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Doer carries out triggers that need a host.
type Doer interface {
	// Types returns the types of triggers that Do knows, of reboot and playbook.
	Types() []string
	// Do begins an action, or looks how far it is, and does not wait for its end. It returns true when the action has
	// ended well. An action that has failed is an error; the next pass asks for it again.
	//
	// Do is called in each pass with the same ID until it returns true, and may be called again after that: when the
	// controller was killed, or could not store the node's new state. So a Doer must remember the IDs of actions that
	// it has begun, where a restart does not lose them.
	Do(ctx context.Context, a Action) (done bool, err error)
}

// Action is something to do on the host of a node.
type Action struct {
	// ID identifies the action: a trigger, in one state of one profile of one node, entered at one time.
	ID      string
	Node    *corev1.Node
	Profile string
	Trigger string // name of the trigger instance
	Since   time.Time
	// Of is a *profile.Reboot or a *profile.Playbook.
	Of any
}
