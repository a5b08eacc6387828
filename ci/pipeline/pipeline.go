package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"deployer/ci/config"
	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/engine/redact"
	"deployer/project"
	"deployer/runs/telemetry"
)

// Options describe a pipeline.
type Options struct {
	Repository *repository.Repository
	States     *repository.States // of the clusters of the repository
	Keys       *repository.Keys   // of States, which no stage gets; nil for none
	// State is the directory of checkouts, locks, plans and reports on this machine.
	State string
	// New is the revision to deploy. Old is the revision that its changes are compared
	// with, instead of the last verified one of each cluster; Before is used for clusters
	// that have none.
	New, Old, Before string
	// Branch is the branch that is deployed; empty for that of HEAD. The revisions of the state
	// must be part of it, or of New.
	Branch string
	// Deployer is the command line of this program: the file to execute, and its name.
	Deployer Program
	// Unmerged is true for a revision that nobody has approved: it is read without a look at
	// anything else of this machine.
	Unmerged bool
	// Load reads the inventory of a checkout.
	Load func(inventory string, r Reading) (*project.Project, error)
	// Inputs reads a playbook of a checkout.
	Inputs func(inventory, playbook string, r Reading) (*project.PlaybookInputs, error)
	// Approved is the digest of the plan of a push that was approved; empty for none.
	Approved string
	// AllowOlder deploys a revision that comes before the one that a cluster has.
	AllowOlder bool
	// ReportsDir is the directory of logs, artifacts and reports; empty for a directory of the
	// revision in State.
	ReportsDir string
	// Metrics is the file that gets the metrics of the run; empty for none.
	Metrics string
	// LogCommands switches the commands of the log that Out is off; nil for a log without. They
	// are switched on while the command of a stage runs that runs alone.
	LogCommands *report.LogCommands
	// Stop is closed when commands in flight have to end at once, after the context of the
	// run was cancelled; nil for never.
	Stop  <-chan struct{}
	Spans *telemetry.Spans // nil for no traces
	Out   io.Writer        // progress and output of commands, with secrets masked
	Now   func() time.Time
}

// Reading says how a checkout is read. Its fields are those of project.Options.
type Reading struct {
	LookupEnv     func(name string) (value string, set bool)
	IsPlaceholder func(value string) bool
	Confined      string
}

// Program is a program to execute.
type Program struct {
	Path string
	Name string // argv[0]
}

// Pipeline is a pipeline at one revision.
type Pipeline struct {
	Options
	commit  string // of New
	dir     string // checkout of commit
	config  *config.Config
	secrets *redact.Set
	environ []string // of subprocesses, with the secrets
	// secretValues are the secrets that come from files, by the name of their variable.
	secretValues map[string]string
	merged       map[string]bool  // commits by whether they are part of the branch; see IsMerged
	links        map[string]error // of checkouts, by their directory; see requireLinks
	console      *lockedWriter
	out          *maskedWriter // messages that belong to no stage

	checkoutMu sync.Mutex // held while git writes a checkout
	stateMu    sync.Mutex // held while the state of a cluster is written and pushed
	logsMu     sync.Mutex
	logs       []string // names of the logs that were opened; guarded by logsMu
}

// Open finds the new revision. The caller must call Close. A revision that does not exist is
// a *project.UserError.
func Open(ctx context.Context, o Options) (*Pipeline, error) {
	p := &Pipeline{Options: o, secrets: redact.NewSet(), environ: environment(), secretValues: map[string]string{}, merged: map[string]bool{}, links: map[string]error{}}
	p.console = &lockedWriter{to: o.Out}
	p.out = &maskedWriter{to: p.console, secrets: p.secrets}
	if o.Keys != nil {
		p.secrets.Add(o.Keys.Secrets()...)
	}
	var err error
	if p.commit, err = o.Repository.Commit(ctx, o.New); err != nil {
		return nil, project.AsUserError(err)
	}
	if p.commit == "" {
		return nil, project.AsUserError(errors.New("the branch was deleted: there is no revision to deploy"))
	}
	return p, nil
}

// load checks out the new revision and reads its configuration. A pipeline that shares its
// state directory with others calls it when it has the lock: the run that had it before
// removes checkouts. A configuration with errors is a *project.UserError.
func (p *Pipeline) load(ctx context.Context) (err error) {
	if p.dir, err = p.checkout(ctx, p.commit); err != nil {
		return err
	}
	if p.config, err = p.readConfig(p.dir); err != nil {
		return project.AsUserError(err)
	}
	return nil
}

// Mask replaces the secrets in a text.
func (p *Pipeline) Mask(text string) string { return p.secrets.Text(text) }

// Close sends the spans that are left and flushes the output.
func (p *Pipeline) Close(ctx context.Context) {
	if err := p.Spans.Finish(ctx); err != nil {
		p.printf("%v\n", err)
	}
	p.out.Flush()
}

// checkout returns the directory with the files of a commit. Its path is the same in every
// run, because plans and journals name absolute paths. Stages that run at the same time
// take turns, because git locks the directory.
func (p *Pipeline) checkout(ctx context.Context, commit string) (string, error) {
	p.checkoutMu.Lock()
	defer p.checkoutMu.Unlock()
	dir := filepath.Join(p.State, "checkouts", commit)
	return dir, p.Repository.Checkout(ctx, commit, dir)
}

// readConfig reads deployer.ci.yaml of a checkout, and returns config.Default when there is
// no such file. Links of an unapproved checkout that lead out of it are an error.
func (p *Pipeline) readConfig(dir string) (*config.Config, error) {
	if err := p.requireLinks(dir); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(dir, config.File))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return config.Default(), nil
	case err != nil:
		return nil, err
	}
	return config.Parse(config.File, data)
}

// inventories returns the inventory files of an environment in a checkout, sorted and
// relative to it.
func inventories(dir string, e config.Environment) ([]string, error) {
	var out []string
	for _, pattern := range e.Inventories {
		found, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			rel, err := filepath.Rel(dir, file)
			if err != nil {
				return nil, err
			}
			if rel = filepath.ToSlash(rel); !slices.Contains(out, rel) {
				out = append(out, rel)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// loadSecrets reads the secrets of the configuration. loadSecrets is called before stages that run
// commands, not for a hook that only assesses a push.
func (p *Pipeline) loadSecrets() error {
	for _, s := range p.config.Secrets {
		value, set := os.LookupEnv(s.Env)
		if s.File != "" {
			data, err := os.ReadFile(s.File)
			if err != nil {
				return project.AsUserError(fmt.Errorf("reading the secret %s: %w", s.Env, err))
			}
			value, set = trimNewline(string(data)), true
			p.environ, p.secretValues[s.Env] = append(p.environ, s.Env+"="+value), value
		}
		if !set {
			return project.AsUserError(fmt.Errorf("the secret %s of %s is not set: set the environment variable, or name a file", s.Env, config.File))
		}
		p.secrets.Add(value)
	}
	return nil
}

// environment returns the variables of subprocesses: those of this process, without the keys of
// the state.
func environment() []string {
	return slices.DeleteFunc(repository.Environment(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == repository.KeyVariable || name == repository.KeyFileVariable
	})
}

func (p *Pipeline) printf(format string, args ...any) {
	fmt.Fprintf(p.out, format, args...)
}
