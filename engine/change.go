package engine

import "fmt"

// Change is what a task would do, as found by its check.
type Change struct {
	// Needed is false when the host is already as the task wants it.
	Needed bool `json:"needed,omitempty"`
	// Wait is true when all that is needed is to wait for what others do: Apply
	// is called, and the step ends as ok, not as changed.
	Wait bool `json:"wait,omitempty"`
	// Effects are what would happen, in order, for plans and diffs.
	Effects []Effect `json:"effects,omitempty"`
	// MissingDir is the directory that the change needs and that is not there. A check
	// fails with [NoDirectory] then, as a real run does, unless something that it
	// cannot foresee may bring it.
	MissingDir string `json:"lacks,omitempty"`
	// Output is what the check learned; `register` sees it.
	Output Output `json:"output,omitempty"`
	// CheckState carries what Check found to Apply of the same module, in process;
	// it is never sent.
	CheckState any `json:"-"`
}

// EffectKind says what sort of thing an effect does, so that a plan can count
// and group them.
type EffectKind string

// The kinds of effect.
const (
	EffectFile    EffectKind = "file"    // create, replace or remove a file, directory or link
	EffectUnit    EffectKind = "unit"    // enable, disable, start or stop a systemd unit
	EffectRestart EffectKind = "restart" // restart or reload of a running process
	EffectReboot  EffectKind = "reboot"  // of the whole host
	EffectPackage EffectKind = "package" // install or remove of a host package
	EffectImage   EffectKind = "image"   // import of a container image
	EffectCommand EffectKind = "command" // run of a command whose outcome is not known beforehand
	EffectKernel  EffectKind = "kernel"  // sysctl, module, swap, mount
	EffectObject  EffectKind = "object"  // create, change or delete of a Kubernetes object
	EffectMember  EffectKind = "member"  // add or remove of an etcd member
	EffectDrain   EffectKind = "drain"   // a Kubernetes node is emptied of pods; diff lists them as they are now
	EffectShow    EffectKind = "show"    // nothing happens; diff is text for people, shown however quiet the run is
)

// Effect is one thing that would happen.
type Effect struct {
	Kind EffectKind `json:"kind"`
	// Target is what it happens to: a path, a unit, a package.
	Target string `json:"target"`
	// Action is a short phrase in the imperative: "create", "replace",
	// "set mode 0640 -> 0600", "restart".
	Action string `json:"action"`
	// Diff is a unified diff where there is one and it is not secret.
	Diff string `json:"diff,omitempty"`
	// Secret is true when the content must not be shown; there is no diff then.
	Secret bool `json:"secret,omitempty"`
	// Redacted is true when a secret was taken out of the texts above.
	Redacted bool `json:"redacted,omitempty"`
}

// SecretMark stands in texts where a secret was.
const SecretMark = "[secret]"

// NoChange is the change of a task that finds everything as wanted.
func NoChange(output Output) Change { return Change{Output: output} }

// Changed returns a needed change made of the given effects.
func Changed(effects ...Effect) Change { return Change{Needed: true, Effects: effects} }

// CreateDirectory is the action of an effect that makes an empty directory.
const CreateDirectory = "create directory"

// MissingDirError is the error of a change that needs a directory which is not there.
func MissingDirError(dir string) error {
	return fmt.Errorf("directory %s does not exist: make it with the directory module first", dir)
}
