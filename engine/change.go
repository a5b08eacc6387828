package engine

import "fmt"

// Change is the difference between the present and the desired state, as a check found
// it.
type Change struct {
	// Needed is false when the host is in the desired state.
	Needed bool `json:"needed,omitempty"`
	// Wait is true when Apply only waits for others: the step ends with StatusOK, not
	// with StatusChanged.
	Wait bool `json:"wait,omitempty"`
	// Effects lists the parts of the change in order, for plans and diffs.
	Effects []Effect `json:"effects,omitempty"`
	// MissingDir is a directory that the change needs and that does not exist. The
	// check then fails as a real run does, unless an earlier step may create the
	// directory.
	MissingDir string `json:"lacks,omitempty"`
	// Output is the result of the check for `register`.
	Output Output `json:"output,omitempty"`
	// CheckState passes data from Check to Apply of the same module, in process; it is
	// never sent.
	CheckState any `json:"-"`
}

// EffectKind is the kind of an effect, by which plans count and group.
type EffectKind string

// The kinds of effect.
const (
	EffectFile    EffectKind = "file"    // create, replace or remove a file, directory or link
	EffectUnit    EffectKind = "unit"    // enable, disable, start or stop a systemd unit
	EffectRestart EffectKind = "restart" // restart or reload of a running process
	EffectReboot  EffectKind = "reboot"  // reboot of the host
	EffectPackage EffectKind = "package" // install or remove of a host package
	EffectImage   EffectKind = "image"   // import of a container image
	EffectCommand EffectKind = "command" // run of a command whose effects a check cannot find out
	EffectKernel  EffectKind = "kernel"  // sysctl, module, swap, mount
	EffectObject  EffectKind = "object"  // create, change or delete of a Kubernetes object
	EffectMember  EffectKind = "member"  // add or remove of an etcd member
	EffectDrain   EffectKind = "drain"   // drain of a Kubernetes node; diff lists its present pods
	EffectShow    EffectKind = "show"    // no change; diff is text for people, shown even by quiet runs
)

// Effect is one part of a change.
type Effect struct {
	Kind EffectKind `json:"kind"`
	// Target names the object: a path, a unit, a package.
	Target string `json:"target"`
	// Action is a short phrase in the imperative: "create", "replace",
	// "set mode 0640 -> 0600", "restart".
	Action string `json:"action"`
	// Reason is the cause of the action, as in "it started before /etc/a.conf changed"; may be
	// empty. It is for people: a dry run may see another cause than the run after it, so no
	// fingerprint has it.
	Reason string `json:"reason,omitempty"`
	// Diff is a unified diff; empty when the kind has none or the content is secret.
	Diff string `json:"diff,omitempty"`
	// Secret is true when the content must not be shown; Diff is empty then.
	Secret bool `json:"secret,omitempty"`
	// Redacted is true when the texts above contained a secret.
	Redacted bool `json:"redacted,omitempty"`
}

// Phrase returns the action with its reason, as people read it.
func (e Effect) Phrase() string {
	if e.Reason == "" {
		return e.Action
	}
	return e.Action + ": " + e.Reason
}

// WithheldEffects returns the effects of a secret step of a module or action in the form
// that people may see: without diffs and, except for files, without values. A command is
// named by the module.
func WithheldEffects(effects []Effect, module string) []Effect {
	out := make([]Effect, len(effects))
	for i, e := range effects {
		e.Diff, e.Secret = "", true
		switch e.Kind {
		case EffectCommand:
			e.Target, e.Action = module, "run"
		case EffectKernel:
			e.Action = "set"
		}
		out[i] = e
	}
	return out
}

// SecretMark replaces a secret in texts.
const SecretMark = "[secret]"

// NoChange returns the change of a task whose host is in the desired state.
func NoChange(output Output) Change { return Change{Output: output} }

// Changed returns a needed change with the given effects.
func Changed(effects ...Effect) Change { return Change{Needed: true, Effects: effects} }

// CreateDirectory is the action of an effect that creates an empty directory.
const CreateDirectory = "create directory"

// MissingDirError returns the error of a change that needs a directory that does not exist.
func MissingDirError(dir string) error {
	return fmt.Errorf("directory %s does not exist: make it with the directory module first", dir)
}
