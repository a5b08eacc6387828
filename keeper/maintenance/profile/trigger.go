package profile

import (
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Trigger is a trigger instance of the file.
type Trigger struct {
	Name string
	Type string
	// Of says what the trigger does; it is an [Edit], a *[Drain], a *[Reboot] or a *[Playbook].
	Of any
}

// Edit is a trigger that only changes the Node object. Apply may be called several times.
type Edit interface{ Apply(node *corev1.Node) }

// alterLabel sets or removes a label.
type alterLabel struct {
	Key    string `yaml:"key" required:"true" doc:"Key of the label."`
	Value  string `yaml:"value" doc:"Value to set. Default empty."`
	Remove bool   `yaml:"remove" doc:"Remove the label. Default false."`
}

// Apply implements Edit.
func (t *alterLabel) Apply(node *corev1.Node) {
	node.Labels = alter(node.Labels, t.Key, t.Value, t.Remove)
}

// validate implements validator.
func (t *alterLabel) validate() error {
	if msgs := append(validation.IsQualifiedName(t.Key), validation.IsValidLabelValue(t.Value)...); len(msgs) > 0 {
		return errors.New("Kubernetes would refuse the label: " + strings.Join(msgs, "; "))
	}
	return ownKey(t.Key)
}

// alterAnnotation sets or removes an annotation.
type alterAnnotation struct {
	Key    string `yaml:"key" required:"true" doc:"Key of the annotation."`
	Value  string `yaml:"value" doc:"Value to set. Default empty."`
	Remove bool   `yaml:"remove" doc:"Remove the annotation. Default false."`
}

// Apply implements Edit.
func (t *alterAnnotation) Apply(node *corev1.Node) {
	node.Annotations = alter(node.Annotations, t.Key, t.Value, t.Remove)
}

// validate implements validator.
func (t *alterAnnotation) validate() error {
	if msgs := validation.IsQualifiedName(strings.ToLower(t.Key)); len(msgs) > 0 {
		return errors.New("Kubernetes would refuse the annotation: " + strings.Join(msgs, "; "))
	}
	return ownKey(t.Key)
}

// ownKey refuses keys that hold the states themselves.
func ownKey(key string) error {
	if key == StateLabel || key == DataAnnotation {
		return errors.New(key + " has the states of profiles, which triggers must not change")
	}
	return nil
}

func alter(in map[string]string, key, value string, remove bool) map[string]string {
	if remove {
		delete(in, key)
		return in
	}
	if in == nil {
		in = map[string]string{}
	}
	in[key] = value
	return in
}

// alterFinalizer adds or removes a finalizer.
type alterFinalizer struct {
	Key    string `yaml:"key" required:"true" doc:"Finalizer, such as example.com/maintenance."`
	Remove bool   `yaml:"remove" doc:"Remove the finalizer. Default false."`
}

// Apply implements Edit.
func (t *alterFinalizer) Apply(node *corev1.Node) {
	has := slices.Contains(node.Finalizers, t.Key)
	switch {
	case t.Remove:
		node.Finalizers = slices.DeleteFunc(node.Finalizers, func(f string) bool { return f == t.Key })
	case !has:
		node.Finalizers = append(node.Finalizers, t.Key)
	}
}

// validate implements validator.
func (t *alterFinalizer) validate() error {
	if msgs := validation.IsQualifiedName(t.Key); len(msgs) > 0 {
		return errors.New("Kubernetes would refuse the finalizer: " + strings.Join(msgs, "; "))
	}
	return nil
}

// eviction cordons, uncordons or drains.
type eviction struct {
	Action          string   `yaml:"action" required:"true" enum:"cordon,uncordon,drain" doc:"What to do."`
	EvictionTimeout Duration `yaml:"evictionTimeout" doc:"Time during which evictions are requested again; after it, forceEviction begins. Default 10m."`
	DeletionTimeout Duration `yaml:"deletionTimeout" doc:"Time after evictionTimeout that pods have to end; after it, each step of the drain is reported as failed, and the drain goes on. Default 10m."`
	ForceEviction   bool     `yaml:"forceEviction" doc:"Delete pods that could not be evicted within evictionTimeout, whatever their disruption budgets say, and kill those that have been terminating for longer than their grace period. Default false."`
}

// cordon makes a node unschedulable, or schedulable.
type cordon bool

// Apply implements Edit.
func (c cordon) Apply(node *corev1.Node) { node.Spec.Unschedulable = bool(c) }

// Drain evicts the pods of a node, over as many passes as that takes.
type Drain struct {
	// EvictionTimeout is the time during which evictions are requested.
	EvictionTimeout time.Duration
	// DeletionTimeout is the time after it for pods to end.
	DeletionTimeout time.Duration
	// Force permits to delete pods that could not be evicted.
	Force bool
}

// of returns the trigger of an eviction.
func (t *eviction) of() any {
	switch t.Action {
	case "cordon":
		return cordon(true)
	case "uncordon":
		return cordon(false)
	}
	return &Drain{time.Duration(t.EvictionTimeout), time.Duration(t.DeletionTimeout), t.ForceEviction}
}

// Reboot reboots the host of the node.
type Reboot struct {
	Timeout Duration `yaml:"timeout" doc:"Maximum duration until the host is back. Default 10m."`
}

// Playbook runs a playbook on the host of the node.
type Playbook struct {
	File    string            `yaml:"file" required:"true" doc:"Playbook."`
	Vars    map[string]string `yaml:"vars" doc:"Variables of the run. Default none."`
	Timeout Duration          `yaml:"timeout" doc:"Maximum duration of the run. Default 1h."`
}

// newTrigger returns a trigger of a type with its defaults; nil for an unknown type. drain is deployer's name for an
// eviction with the action drain.
func newTrigger(kind string) any {
	switch kind {
	case "alterLabel":
		return &alterLabel{}
	case "alterAnnotation":
		return &alterAnnotation{}
	case "alterFinalizer":
		return &alterFinalizer{}
	case "eviction":
		return &eviction{EvictionTimeout: Duration(10 * time.Minute), DeletionTimeout: Duration(10 * time.Minute)}
	case "drain":
		return &drain{EvictionTimeout: Duration(10 * time.Minute), DeletionTimeout: Duration(10 * time.Minute)}
	case "reboot":
		return &Reboot{Timeout: Duration(10 * time.Minute)}
	case "playbook":
		return &Playbook{Timeout: Duration(time.Hour)}
	}
	return nil
}

// drain is an eviction whose action is drain.
type drain struct {
	EvictionTimeout Duration `yaml:"evictionTimeout" doc:"As in eviction. Default 10m."`
	DeletionTimeout Duration `yaml:"deletionTimeout" doc:"As in eviction. Default 10m."`
	ForceEviction   bool     `yaml:"forceEviction" doc:"As in eviction. Default false."`
}

// of returns the trigger of a drain.
func (t *drain) of() any {
	return &Drain{time.Duration(t.EvictionTimeout), time.Duration(t.DeletionTimeout), t.ForceEviction}
}

var triggerTypes = []string{"alterLabel", "alterAnnotation", "alterFinalizer", "eviction", "drain", "reboot", "playbook"}

// external are the types of triggers that the program around carries out.
var external = []string{"reboot", "playbook"}
