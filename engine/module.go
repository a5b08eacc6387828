package engine

import (
	"context"
	"io"
	"io/fs"
	"time"
)

// Module is a task that runs on the host. The implementing struct holds the
// task's arguments; the controller decodes it strictly from YAML (yaml tags,
// doc tags for the reference) and sends it to the agent as JSON under its Go
// field names.
//
// Errors name the fault and the advice; the engine adds host and step.
type Module interface {
	// Check reports the present state and the changes that are needed. Check must not
	// change the host, and must tolerate that an earlier step of the same run has not
	// been applied (a directory that does not exist yet): a dry run does not apply
	// it.
	Check(ctx context.Context, sys System) (Change, error)
	// Apply makes the change that Check reported. Apply is not called when Check
	// reported none. The returned output is the result for `register`, merged over
	// the output of Check; nil adds nothing.
	Apply(ctx context.Context, sys System, change Change) (Output, error)
}

// Validator is implemented by the arguments of tasks with rules that no single argument has,
// such as arguments that exclude each other. Valid returns the first fault that needs no host
// to be found: it is called before any host is contacted, when all arguments are known, and
// again for each host.
type Validator interface{ Valid() error }

// ArgumentError is the error of a Validator.
type ArgumentError struct{ Err error }

func (e *ArgumentError) Error() string { return e.Err.Error() }

// Unwrap returns the error of Valid.
func (e *ArgumentError) Unwrap() error { return e.Err }

// Validate returns the error of arguments that are Validators, as an *ArgumentError; nil for
// others.
func Validate(args any) error {
	if v, ok := args.(Validator); ok {
		if err := v.Valid(); err != nil {
			return &ArgumentError{err}
		}
	}
	return nil
}

// System is the interface of a module to its host. The agent implements it, and fakes
// in tests; modules use nothing else of the host.
type System interface {
	// Path maps an absolute path of the host to the path to open. Path returns p on real
	// hosts, and a path below a directory on in-process test hosts.
	Path(p string) string
	// Blob opens a content-addressed blob of the controller. digest is the hex SHA-256
	// of the plain content and must be the value of a field Blob of the step's
	// arguments: the controller sends no other. The stream ends with an error instead
	// of io.EOF when the content does not match. A run sends a blob to a host once.
	Blob(ctx context.Context, digest string) (io.ReadCloser, error)
	// Call calls a method of the controller; in and out are sent as JSON. The prefix of
	// a method is the package that handles it, as in "certificate.sign".
	Call(ctx context.Context, method string, in, out any) error
	// Backup records the present content and metadata of path, or its absence and that
	// of the directories above it, so that the step can be reverted. Call it before
	// every creation, replacement and removal, of directories too. Backup does not include
	// the entries of a directory.
	Backup(path string) error
	// BackupRegenerated records that the step removes a regular file or link that a service
	// makes again when it starts. A revert restores no content: it removes the file that is
	// there then, so that the service makes it for its previous configuration. Call it
	// before the removal.
	BackupRegenerated(path string) error
	// BackupState records the present state of a resource that is not a file; kind
	// names the Kind whose Restorer can restore it. Call it before the change.
	BackupState(kind, name string, now State) error
	// MarkIrreversible records that the step changes name and why a revert cannot
	// restore it.
	MarkIrreversible(name, why string) error
	// Run runs a program on the host and waits for its end. A non-zero exit code is not
	// an error: the result contains it. The program has the environment of the step,
	// and for modules with RunsPrograms its user.
	Run(ctx context.Context, cmd Command) (CommandResult, error)
	// Chown gives a file or directory, as mapped by Path, to the user of the step's
	// programs. Chown does nothing when that is the agent's user.
	Chown(path string) error
	// Progress reports to people what a long step does or waits for.
	Progress(text string)
	// RunID returns the id of the run.
	RunID() string
}

// DryRunView is implemented by the System of a check: it knows the changes that the
// earlier steps of the check would have made.
type DryRunView interface {
	// CheckOnly reports whether the run is in check mode. A module that waits for a change
	// does not wait then.
	CheckOnly() bool
	// WouldChange reports whether an earlier step would have changed the path, or
	// something below it.
	WouldChange(path string) bool
	// WouldCreate reports whether an earlier step may have created the directory.
	WouldCreate(dir string) bool
}

// Interruptions is implemented by Systems that know of earlier attempts of the step.
type Interruptions interface {
	// Interrupted returns the run, this one or one that it resumes, in which the step
	// began and did not end, because the agent or the host died or the run was stopped.
	// The result is empty when there is none. An attempt that failed has ended.
	Interrupted() (run string, err error)
}

// InterruptedError is the error of a step that must not be repeated, because the effects
// of an interrupted attempt are unknown. The host keeps the record of that attempt.
type InterruptedError struct{ Run string }

func (e *InterruptedError) Error() string {
	return "run " + e.Run + " was interrupted in this step, and on_resume: fail forbids to repeat it; " +
		"find out how far the step came, then set on_resume to run or skip, or start a new run"
}

// Command is a program to run on a host.
type Command struct {
	Argv  []string
	Env   []string // added to the agent's environment, KEY=value
	Dir   string
	Stdin []byte
	// User is the name of the user of the program; LoginUser for the user of the SSH
	// login, empty for the agent's user. Modules leave it empty: the step sets it.
	User string
	// MaxOutput bounds stdout and stderr each, in bytes; the middle of a longer output
	// is dropped. DefaultMaxOutput when 0.
	MaxOutput int
}

// DefaultMaxOutput is the default of Command.MaxOutput, in bytes.
const DefaultMaxOutput = 1 << 20

// LoginUser means the user of the SSH login, before privilege escalation.
const LoginUser = "-"

// RunsPrograms is implemented by the arguments of tasks whose programs can run as another
// user (become, become_user). Other modules do their work in the agent.
type RunsPrograms interface{ RunsPrograms() }

// CommandResult is the result of a command.
type CommandResult struct {
	Exit    int
	Stdout  string
	Stderr  string
	Elapsed time.Duration
}

// Preparer is a task that the controller turns into a host module before
// sending it.
type Preparer interface {
	// Prepare returns the module's registered name and its arguments.
	Prepare(ctx context.Context, c PrepareContext) (name string, module Module, err error)
}

// PrepareContext is the interface of a Preparer to its run.
type PrepareContext interface {
	// Host returns the name of the host that the task is for.
	Host() string
	// Vars returns the current variables of the host.
	Vars() map[string]any
	// Render renders a template file of the task's role or playbook with the host's
	// variables.
	Render(name string) ([]byte, error)
	// File reads a file of the task's role or playbook.
	File(name string) ([]byte, error)
	// Walk lists the tree below a directory of the role's or playbook's files, by names
	// relative to it, sorted, a directory before its entries. For a file, it lists that
	// file under the name "".
	Walk(name string) ([]FileEntry, error)
	// FileBlob makes a file of the role or playbook available to hosts, of any size. A
	// run reads the file once.
	FileBlob(ctx context.Context, name string) (Blob, error)
	// Download makes the content of a URL available to hosts, if its hex SHA-256 is
	// digest. The controller downloads content once.
	Download(ctx context.Context, url, digest string) (Blob, error)
	// AddBlob makes content available to hosts and returns its digest.
	AddBlob(content []byte) (digest string)
	// Artifact returns the blob of an artifact of the catalogue for this host's
	// architecture: a binary, an archive or an image tarball. The lock file resolves
	// the version; unverified artifacts have no digest.
	Artifact(ctx context.Context, name, version string) (Blob, error)
}

// FileEntry is a file or directory of a role or playbook.
type FileEntry struct {
	Name string      // relative to the directory of Walk, with slashes
	Mode fs.FileMode // type and permissions; of a link, those of its target
	Size int64       // bytes of a plain file
}

// Blob identifies content by its digest.
type Blob struct {
	Digest string // hex SHA-256 of the plain content
	Size   int64  // bytes of the plain content
	// Expanded is the digest of the same archive without gzip, which a host may request
	// instead; empty for other content.
	Expanded string
}
