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
// Errors say what is wrong and what to do; the engine adds host and step.
type Module interface {
	// Check reports what is and what would change. It must not change the
	// host, and must tolerate that an earlier step of the same run has not
	// been applied (a directory that does not exist yet): in a dry run it
	// has not.
	Check(ctx context.Context, sys System) (Change, error)
	// Apply makes the change that Check reported. It is not called when
	// Check reported none. The returned output is what `register` sees,
	// merged over the output of Check; nil adds nothing.
	Apply(ctx context.Context, sys System, change Change) (Output, error)
}

// System is the host as a module sees it. It is implemented by the agent, and
// by fakes in tests; everything that a module does to its host goes through it.
type System interface {
	// Path maps an absolute path of the host to the path to open. It is the
	// identity on real hosts; in-process test hosts live below a directory.
	Path(p string) string
	// Blob opens a content-addressed blob that the controller holds. digest is
	// the hex SHA-256 of the plain content, and must stand in a field Blob of the
	// step's arguments: the controller sends no other. The stream ends with an error, not
	// with io.EOF, when the content does not match. Blobs already on the host
	// are not sent again within a run.
	Blob(ctx context.Context, digest string) (io.ReadCloser, error)
	// Call asks the controller and waits for its answer; in and out travel as
	// JSON. Methods are named by the package that handles them, as in
	// "certificate.sign".
	Call(ctx context.Context, method string, in, out any) error
	// Backup saves the present content and metadata of path, or that it does not
	// exist, so that this step can be reverted; directories above it that do
	// not exist either are noted too. Call it before making or replacing
	// anything, directories included. What is below a directory is not kept.
	Backup(path string) error
	// BackupState saves what something other than a file is now; kind names the
	// Kind whose Restorer can put it back. Call it before changing it.
	BackupState(kind, name string, now State) error
	// MarkIrreversible notes that name will not be what it was after this step, and why it
	// cannot be put back.
	MarkIrreversible(name, why string) error
	// Run runs a program on the host and waits for it. A non-zero exit is not
	// an error: look at the result. The program gets the environment of the
	// step, and for modules with RunsPrograms its user.
	Run(ctx context.Context, cmd Command) (CommandResult, error)
	// Chown hands a file or directory, as Path maps it, to the user that the
	// step's programs run as. It does nothing when that is the agent's own.
	Chown(path string) error
	// Progress reports what a long step is doing, for people.
	Progress(text string)
	// RunID names the run that the step belongs to.
	RunID() string
}

// DryRunView is what a System is besides, in a check: it knows what the steps
// before this one would have changed.
type DryRunView interface {
	// WouldChange tells whether the path, or something below it, would be
	// different by now in a real run.
	WouldChange(path string) bool
	// WouldCreate tells whether the directory may be there by now in a real run.
	WouldCreate(dir string) bool
}

// Interruptions is what a System is besides: it knows of earlier tries of the
// step.
type Interruptions interface {
	// Interrupted names the run in which the step was begun and came to no end,
	// because the agent or the host died or the run was stopped: this one, or one
	// that it goes on from. It is empty when there is none. A try that failed has
	// come to its end.
	Interrupted() (run string, err error)
}

// InterruptedError ends a step that must not be tried again, as nobody knows how
// far an earlier try has come. The host goes on to know of that one.
type InterruptedError struct{ Run string }

func (e *InterruptedError) Error() string {
	return "it was begun in run " + e.Run + " and interrupted, and on_resume: fail says that it is not simply run again; " +
		"look how far it came, and then say on_resume: run or skip, or start a new run"
}

// Command is a program to run on a host.
type Command struct {
	Argv  []string
	Env   []string // added to the agent's environment, KEY=value
	Dir   string
	Stdin []byte
	// User is the name of the user that it runs as; LoginUser for who logged in
	// over SSH, empty for the agent's own. Modules leave it to the step.
	User string
	// MaxOutput bounds each of stdout and stderr in bytes; what is beyond is
	// dropped from the middle. Default 1 MiB.
	MaxOutput int
}

// LoginUser stands for the user who logged in over SSH, before becoming root.
const LoginUser = "-"

// RunsPrograms is implemented by the arguments of tasks whose work is done by
// the programs that they run, so that it makes sense to run these as another
// user (become, become_user). The work of other modules is done by the agent.
type RunsPrograms interface{ RunsPrograms() }

// CommandResult is how a command ended.
type CommandResult struct {
	Exit    int
	Stdout  string
	Stderr  string
	Elapsed time.Duration
}

// Output is the data of a result that later tasks can use under the name given
// with `register`.
type Output map[string]any

// Preparer is a task that the controller turns into a host module before
// sending it.
type Preparer interface {
	// Prepare returns the module's registered name and its arguments.
	Prepare(ctx context.Context, c PrepareContext) (name string, module Module, err error)
}

// PrepareContext is what a Preparer may use.
type PrepareContext interface {
	// Host names the host that the task is for.
	Host() string
	// Vars are the variables of that host at this moment.
	Vars() map[string]any
	// Render renders a template file of the role (or playbook) that the task
	// stands in, with the host's variables.
	Render(name string) ([]byte, error)
	// File reads a plain file of the role (or playbook).
	File(name string) ([]byte, error)
	// Walk lists what a directory of the role's (or playbook's) files holds, by
	// names relative to it, sorted, directories before what is in them. Of a
	// plain file it lists that file alone, under the name "".
	Walk(name string) ([]FileEntry, error)
	// FileBlob makes a plain file of the role (or playbook) available to hosts,
	// whatever its size. It is read once in a run.
	FileBlob(ctx context.Context, name string) (Blob, error)
	// Download makes what is at a URL available to hosts, if its hex SHA-256 is
	// digest. What the controller has already is not fetched again.
	Download(ctx context.Context, url, digest string) (Blob, error)
	// AddBlob makes content available to hosts and returns its digest.
	AddBlob(content []byte) (digest string)
	// Artifact names the blob of a catalogued artifact for this host's
	// architecture: a binary, an archive or an image tarball. It is resolved
	// through the lock file; nothing unverified has a digest.
	Artifact(ctx context.Context, name, version string) (Blob, error)
}

// FileEntry is a file or directory of a role.
type FileEntry struct {
	Name string      // relative to what was walked, with slashes
	Mode fs.FileMode // type and permissions, of what a link leads to
	Size int64       // bytes of a plain file
}

// Blob is content by its digest.
type Blob struct {
	Digest string // hex SHA-256 of the plain content
	Size   int64  // bytes of the plain content
	// Expanded is the digest of the same archive without gzip, which a host may
	// ask for instead; empty for what is no archive.
	Expanded string
}
