package engine

import "context"

// State is what something other than a file is: a unit, a package, a user. What
// does not exist has no keys; what exists has at least one. Values are compared
// as they are, key by key; those of keys that begin with SecretKey are never
// shown.
type State map[string]string

// SecretKey begins the keys of a State whose values nobody may see.
const SecretKey = "secret_"

// Restorer knows how to put back one kind of thing that is no file. Modules keep
// its states with System.BackupState.
type Restorer struct {
	// Effect is how plans count what putting back does.
	Effect EffectKind
	// Read returns what name is now.
	Read func(ctx context.Context, sys System, name string) (State, error)
	// Restore brings name from the state that it has now into another one. It
	// returns a *Stays for what can never be put back.
	Restore func(ctx context.Context, sys System, name string, now, to State) error
	// Irreversible tells beforehand why Restore would end with a *Stays; empty when
	// it would not. It may take longer than a look. nil means never.
	Irreversible func(ctx context.Context, sys System, name string, now, to State) (why string, err error)
	// EquivalentToAbsent tells whether something that is gone is as good as in this state: a
	// unit does nothing then either, and its file is a thing of its own, which a
	// revert may have taken away already, or, when a revert is reverted, brought
	// back. nil means never.
	EquivalentToAbsent func(State) bool
	// OwnerOf names the thing that a key of the state is a trait of: a member of a
	// group is one of that user. When the run changed that thing too, the key
	// goes with it, and another value is no sign of somebody else. An empty kind
	// means none; nil means never.
	OwnerOf func(key string) (kind, name string)
	// NeedsFilesFirst tells whether putting back has to wait until the files around it
	// are back: a unit can only start then. nil means never.
	NeedsFilesFirst func(to State) bool
	// ReloadsOn tells whether putting back a file leaves something to Postponed of
	// the kind: what the host has made of /etc/fstab is made again. nil means
	// never.
	ReloadsOn func(path string) bool
	// Remainder is what stays behind when a thing goes that was not there before, for
	// people; empty for nothing.
	Remainder string
	// Stopped tells whether nothing runs in a state: what a run has started out
	// of it is not waited for when it is put back. nil means never.
	Stopped func(State) bool
}

// IrreversibleError is why something stays as a run left it, for good: trying again does
// not help, and the rest of a revert goes on without it.
type IrreversibleError struct{ Reason string }

func (s *IrreversibleError) Error() string { return s.Reason }

// RevertModule is the name of the module that every agent brings along, beside
// those of its registry; its arguments are a Revert.
const RevertModule = "revert"

// Revert puts back on a host what the steps of an earlier run have kept there.
type Revert struct {
	// Run is the run whose changes are put back.
	Run string
	// Task is the id of the task whose steps are meant; empty for all steps of
	// the run that are not put back yet.
	Task string `json:",omitempty"`
	// AfterFiles is true for what must wait for files (see Restorer.AfterFiles), false for
	// the rest. Without a task both are done.
	AfterFiles bool `json:",omitempty"`
	// Force puts back also what somebody has changed since.
	Force bool `json:",omitempty"`
	// SameRun is true when the run puts back what it has changed itself, because it
	// did not prove itself in a rollout.
	SameRun bool `json:",omitempty"`
	// Preview only tells what there is to do: the output is a Past.
	Preview bool `json:",omitempty"`
}

// ID is the id of the step that carries the revert out. It is the same each time
// the run is reverted, so that a host can tell a revert that came to its end
// from one that did not.
func (r Revert) ID() string {
	id := "revert:" + r.Run + ":" + r.Task
	if r.AfterFiles {
		id += ":late"
	}
	return id
}

// RunHistory is what a host knows of a run that is to be reverted.
type RunHistory struct {
	// Known is false when the host has no record of the run: it was not in it,
	// or has forgotten it.
	Known bool           `json:"known"`
	Items []ChangeRecord `json:"items,omitempty"`
	// Unfinished is an earlier revert of the run that did not come to its end
	// on this host; empty when there is none.
	Unfinished string `json:"unfinished,omitempty"`
	// Executed are the steps that were carried out on the host, by id.
	Executed []string `json:"ran,omitempty"`
	// WithoutBackup are the steps that began to change something and kept nothing, by
	// id: they cannot be put back.
	WithoutBackup []string `json:"bare,omitempty"`
}

// ChangeRecord is one thing that the run has changed on the host.
type ChangeRecord struct {
	// Steps are the ids of the steps that changed it, the first first.
	Steps []string `json:"steps"`
	Kind  string   `json:"kind"` // "file", or the kind of its Restorer
	Name  string   `json:"name"` // a path, a unit, a package
	// Effect is how plans count what putting it back does.
	Effect  EffectKind  `json:"effect"`
	State   RevertState `json:"fate"`
	Reason  string      `json:"why,omitempty"`  // it has drifted, or stays
	Run     string      `json:"run,omitempty"`  // that changed it later, when it has drifted
	Created bool        `json:"made,omitempty"` // it did not exist before the run
	// Started: it did not run before the run, and did after it.
	Started         bool `json:"started,omitempty"`
	NeedsFilesFirst bool `json:"late,omitempty"`
}

// Label names the thing for people.
func (i ChangeRecord) Label() string {
	if i.Kind == "file" || i.Kind == "lost" || i.Kind == i.Name {
		return i.Name
	}
	return i.Kind + " " + i.Name
}

// RevertState says what a revert does with something.
type RevertState string

// The fates.
const (
	RevertRestore   RevertState = "put back" // it is as the run left it and will be put back
	RevertUnchanged RevertState = "settled"  // it is as it was before the run
	RevertDrifted   RevertState = "drifted"  // somebody has changed it since the run
	RevertLost      RevertState = "lost"     // what was there could not be kept
)
