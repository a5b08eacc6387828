package maintenance

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"deployer/keeper/maintenance/profile"
)

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of events.
const (
	// Transition: the node has changed from one state of a profile to another, and the change is stored.
	Transition EventKind = "transition"
	// Triggered: a trigger has ended well.
	Triggered EventKind = "triggered"
	// InProgress: a trigger has not ended yet.
	InProgress EventKind = "in-progress"
	// Notified: a notification was sent.
	Notified EventKind = "notified"
	// Failed: something failed, so that the node keeps its state.
	Failed EventKind = "failed"
	// Ignored: the node's label names a profile that the file does not have.
	Ignored EventKind = "ignored"
)

// Event is something that happened to a node.
type Event struct {
	Kind     EventKind
	Node     *corev1.Node
	Profile  string        // empty when the event is about the node as a whole
	Instance string        // trigger or notification; may be empty
	From, To profile.State // of a transition
	Text     string        // pods that are left and the like; may be empty
	Err      error         // of a failure
}

// String returns the event as a line for a journal.
func (e Event) String() string {
	at := "node " + e.Node.Name
	if e.Profile != "" {
		at += ", profile " + e.Profile
	}
	switch e.Kind {
	case Transition:
		return fmt.Sprintf("%s: %s -> %s", at, e.From, e.To)
	case Failed:
		return fmt.Sprintf("%s: failed: %v", at, e.Err)
	}
	line := fmt.Sprintf("%s: %s", at, e.Kind)
	if e.Instance != "" {
		line += " " + e.Instance
	}
	if e.Text != "" {
		line += ": " + e.Text
	}
	return line
}
