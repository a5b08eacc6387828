package engine

import "context"

// State is the state of a resource that is not a file: a unit, a package, a user. A
// resource that does not exist has no keys; every other has at least one. States are
// compared key by key. Values of keys with the prefix SecretKey are never shown.
type State map[string]string

// SecretKey is the prefix of the keys of a State whose values are secret.
const SecretKey = "secret_"

// Restorer restores one kind of resource that is not a file. Modules back up its states
// with System.BackupState. Functions that are nil return false or nothing.
type Restorer struct {
	// Effect is the kind of effect that plans count for a restore.
	Effect EffectKind
	// Read returns the present state of a resource.
	Read func(ctx context.Context, sys System, name string) (State, error)
	// Restore changes a resource from its present state to another. The error is an
	// *IrreversibleError for a change that can never be undone.
	Restore func(ctx context.Context, sys System, name string, now, to State) error
	// Irreversible returns the reason of the *IrreversibleError that Restore would
	// return; empty when it would return none. Irreversible may take longer than Read.
	Irreversible func(ctx context.Context, sys System, name string, now, to State) (why string, err error)
	// EquivalentToAbsent reports whether a resource that does not exist needs no
	// restore to this state. Example: a stopped and disabled unit whose file, which is
	// restored on its own, is gone.
	EquivalentToAbsent func(State) bool
	// OwnerOf returns the resource that a key of the state belongs to: a member of a
	// group belongs to the user of that name. When the run changed that resource too,
	// the key follows it, and another value is no drift. An empty kind means none.
	OwnerOf func(key string) (kind, name string)
	// NeedsFilesFirst reports whether a restore to this state requires that the files
	// of the run are restored first: a unit can only start then.
	NeedsFilesFirst func(to State) bool
	// ReloadsOn reports whether a restore of a file needs Kind.Deferred of this kind
	// afterwards: systemd generates units from /etc/fstab.
	ReloadsOn func(path string) bool
	// Remainder describes, for people, what remains on the host after the removal of a
	// resource that the run created; empty for nothing.
	Remainder string
	// Stopped reports whether nothing runs in a state: a revert does not wait for the
	// readiness of what the run started from this state.
	Stopped func(State) bool
}

// IrreversibleError is the error of a restore that can never succeed. The rest of the
// revert continues.
type IrreversibleError struct{ Reason string }

func (s *IrreversibleError) Error() string { return s.Reason }

// RevertModule is the name of a module that every agent has in addition to its
// registry; its arguments are a Revert.
const RevertModule = "revert"

// Revert restores on a host the backups of a run.
type Revert struct {
	// Run is the run that is reverted.
	Run string
	// Task is the id of the task whose steps are reverted; empty for all steps of the
	// run that are not reverted yet.
	Task string `json:",omitempty"`
	// AfterFiles selects the resources that need files first (see
	// Restorer.NeedsFilesFirst), false the others. AfterFiles has no effect without a task.
	AfterFiles bool `json:",omitempty"`
	// Force restores resources also when they changed after the run.
	Force bool `json:",omitempty"`
	// InRollout is true when a run restores its own changes, or those of a run that it
	// resumes, because a host failed in a rollout.
	InRollout bool `json:",omitempty"`
	// Preview changes nothing; the output is a RunHistory.
	Preview bool `json:",omitempty"`
}

// ID returns the id of the step that does the revert. The id is the same each time the run
// is reverted, so that a host recognizes a revert that was interrupted.
func (r Revert) ID() string {
	id := "revert:" + r.Run + ":" + r.Task
	if r.AfterFiles {
		id += ":late"
	}
	return id
}

// RunHistory is the record that a host has of a run.
type RunHistory struct {
	// Known is false when the host has no record of the run: it took no part, or its
	// record was removed.
	Known bool           `json:"known"`
	Items []ChangeRecord `json:"items,omitempty"`
	// Unfinished is an earlier revert of the run that was interrupted on this host;
	// empty when there is none.
	Unfinished string `json:"unfinished,omitempty"`
	// Executed holds the ids of the steps that ran on the host.
	Executed []string `json:"executed,omitempty"`
	// Pending holds the names of the handlers and of the rollouts' post_tasks that are due
	// on the host, of this run or another.
	Pending []string `json:"pending,omitempty"`
	// WithoutBackup holds the ids of the steps that changed something without a backup:
	// nothing can restore that.
	WithoutBackup []string `json:"without_backup,omitempty"`
}

// ChangeRecord is one resource that a run changed on a host.
type ChangeRecord struct {
	// Steps are the ids of the steps that changed the resource, in their order.
	Steps []string `json:"steps"`
	Kind  string   `json:"kind"` // "file", or the kind of its Restorer
	Name  string   `json:"name"` // a path, a unit, a package
	// Effect is the kind of effect that plans count for a restore.
	Effect  EffectKind  `json:"effect"`
	State   RevertState `json:"state"`
	Reason  string      `json:"reason,omitempty"`  // why it drifted, or cannot be restored
	Run     string      `json:"run,omitempty"`     // the later run that changed it, if it drifted because of one
	Created bool        `json:"created,omitempty"` // the run created it
	Started bool        `json:"started,omitempty"` // the run started it
	// NeedsFilesFirst is the result of Restorer.NeedsFilesFirst for its previous state.
	NeedsFilesFirst bool `json:"needs_files_first,omitempty"`
	// BeforeFiles is true when a step of the run is reverted before files are restored: its
	// own previous state needs none. A run that stops a unit and starts it again has both.
	BeforeFiles bool `json:"before_files,omitempty"`
}

// Label names the resource for people.
func (i ChangeRecord) Label() string {
	if i.Kind == "file" || i.Kind == "lost" || i.Kind == i.Name {
		return i.Name
	}
	return i.Kind + " " + i.Name
}

// RevertState is the decision of a revert about a resource.
type RevertState string

// The states of resources in a revert.
const (
	RevertRestore   RevertState = "restore"   // the resource is as the run left it and will be restored
	RevertUnchanged RevertState = "unchanged" // the resource is in its state before the run
	RevertDrifted   RevertState = "drifted"   // the resource was changed after the run
	RevertLost      RevertState = "lost"      // the run made no backup of its previous state
)
