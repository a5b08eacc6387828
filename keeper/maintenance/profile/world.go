package profile

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// World is what decisions depend on besides the node and its stored states.
type World struct {
	Now time.Time
	// Nodes are all nodes, as they are at the moment: with the changes that earlier decisions of the same pass have
	// made.
	Nodes []*corev1.Node
	// Busy are the nodes on which triggers are in progress, by name, each with the profile whose transition they belong
	// to. They count as nodes in maintenance, and keep the lease of their stagger check.
	Busy map[string]string
	// Facts answers questions about other objects.
	Facts Facts

	read map[string]readData // by node
}

// readData are the states of a node, with the text from which they were read.
type readData struct {
	text string
	data Data
	err  error
}

// data returns the states of a node, which must not be changed. It reads each text once: a decision may look at all
// nodes, and each node has a decision.
func (w *World) data(node *corev1.Node) (Data, error) {
	text := node.Annotations[DataAnnotation]
	known, ok := w.read[node.Name]
	if !ok || known.text != text {
		known = readData{text: text}
		if known.data, known.err = ParseData(text); known.err != nil {
			known.err = fmt.Errorf("node %s: %w", node.Name, known.err)
		}
		if w.read == nil {
			w.read = map[string]readData{}
		}
		w.read[node.Name] = known
	}
	return known.data, known.err
}

// Facts answers questions whose answers are not in the list of nodes. Answers may be read when they are asked for;
// they must not change during one decision.
type Facts interface {
	// Lease returns a Lease; ok is false when there is none.
	Lease(key LeaseKey) (lease Lease, ok bool, err error)
	// PrefersOperational reports whether a pod of the node prefers nodes in the state operational: [PrefersOperational].
	PrefersOperational(node string) (bool, error)
	// Query returns the value of an instant query of the Prometheus at url, which must have exactly one.
	Query(url, query string) (float64, error)
}

// LeaseKey names a Lease.
type LeaseKey struct{ Namespace, Name string }

// String returns namespace/name.
func (k LeaseKey) String() string { return k.Namespace + "/" + k.Name }

// Lease is a Lease of coordination.k8s.io.
type Lease struct {
	Holder   string
	Renewed  time.Time
	Duration time.Duration
}

// Free reports whether the lease has ended.
func (l Lease) Free(now time.Time) bool { return now.Sub(l.Renewed) > l.Duration }

// PrefersOperational reports whether a pod prefers nodes in the state operational: it has a preferred node affinity
// with the requirement `cloud.sap/maintenance-state In [operational]`.
func PrefersOperational(pod *corev1.Pod) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return false
	}
	for _, preferred := range pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		for _, r := range preferred.Preference.MatchExpressions {
			if r.Key == StateLabel && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 && r.Values[0] == string(Operational) {
				return true
			}
		}
	}
	return false
}

// maintained reports whether a node counts as in maintenance: its label says so, or the state of one of its profiles
// does. People may have changed one of the two.
func (w *World) maintained(node *corev1.Node) bool {
	if node.Labels[StateLabel] == string(InMaintenance) {
		return true
	}
	data, err := w.data(node)
	if err != nil {
		return false // the label is all that is known
	}
	for _, p := range data.Profiles {
		if p.Current == InMaintenance {
			return true
		}
	}
	return false
}
