package staticpod

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
	"deployer/tasks/receipt"
)

// Reload makes a static pod's program read its configuration files again, while its
// connections live on. It suits programs whose main process reacts to a signal with new
// worker processes, as nginx and HAProxy do: a new worker is the proof that the
// configuration was accepted. A container that starts after a change of the files needs
// no reload.
type Reload struct {
	Manifest  string        `yaml:"manifest" rule:"path" required:"true" doc:"absolute path of the manifest; it must carry the annotation deployer/hash"`
	Container string        `yaml:"container" rule:"hostname" doc:"container whose main process gets the signal; default the first container of the manifest"`
	Files     []string      `yaml:"files" rule:"path" required:"true" doc:"absolute paths of the program's configuration files on the host"`
	Signal    string        `yaml:"signal" rule:"in:HUP,USR1,USR2,TERM" doc:"HUP, USR1 or USR2; or TERM for a program that reads its files only when it starts: it ends, and the kubelet starts it again. Default HUP"`
	Timeout   time.Duration `yaml:"timeout" range:"0s.." doc:"maximum wait for new worker processes; default 30s, with TERM 2m for the new container"`
	MissingOK bool          `yaml:"missing_ok" doc:"do not fail when the manifest does not exist. Default false"`
	Ctr       string        `yaml:"ctr" rule:"path" doc:"path of the ctr program; default /usr/local/bin/ctr, else ctr from the search path"`
	Socket    string        `yaml:"socket" rule:"path" doc:"containerd's socket; default /run/containerd/containerd.sock"`
}

var (
	_ engine.Module        = (*Reload)(nil)
	_ engine.ReadinessGate = (*Reload)(nil)
)

// signals make programs read their configuration again; signalEnd by a new start.
var signals = []string{"HUP", "USR1", "USR2", signalEnd}

// Gate returns the same reload, for a pod that may not exist any more: when a revert has
// restored the files, the program must read them.
func (r *Reload) Gate() any {
	gate := *r
	gate.MissingOK = true
	return &gate
}

// target is the running container that may have to read its files again.
type target struct {
	manifest  manifest
	container string // id; empty when the pod does not run as its manifest says
	pid       string // of its main process
}

// Check reports whether the container has not read the files since they changed.
func (r *Reload) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := r.Valid(); err != nil {
		return engine.Change{}, err
	}
	if wouldChange(sys, r.Manifest) {
		return engine.NoChange(nil), nil // the pod that starts then reads the files
	}
	t, err := r.target(ctx, sys)
	view, ok := sys.(engine.DryRunView)
	if dry := ok && view.CheckOnly(); errors.Is(err, fs.ErrNotExist) && (r.MissingOK || dry) {
		return engine.NoChange(nil), nil
	}
	if err != nil || t.container == "" {
		return engine.NoChange(nil), err
	}
	changed, err := r.unread(ctx, sys, t)
	if err != nil || changed == "" {
		return engine.NoChange(nil), err
	}
	effect := engine.Effect{
		Kind: engine.EffectRestart, Target: "static pod " + t.manifest.Metadata.Name,
		Action: "reload", Reason: "it has not read " + changed + " since it changed",
	}
	if r.signal() == signalEnd {
		effect.Action, effect.Reason = "restart", "it started before "+changed+" changed"
	}
	return engine.Changed(effect), nil
}

// Valid implements engine.Validator.
func (r *Reload) Valid() error {
	for _, path := range append([]string{r.Manifest}, r.Files...) {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("path %q is not absolute", path)
		}
	}
	if !slices.Contains(signals, r.signal()) {
		return fmt.Errorf("signal %q is none of %s", r.Signal, strings.Join(signals, ", "))
	}
	return nil
}

func (r *Reload) signal() string { return cmp.Or(strings.TrimPrefix(r.Signal, "SIG"), "HUP") }

// Apply sends the signal and waits for a new worker process. When none stays, the
// program keeps its former configuration, and the error has the end of its log.
func (r *Reload) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	t, err := r.target(ctx, sys)
	if err != nil {
		return nil, err
	}
	name := t.manifest.Metadata.Name
	if t.container == "" {
		return nil, fmt.Errorf("static pod %s does not run as %s says", name, r.Manifest)
	}
	if r.signal() == signalEnd {
		return r.end(ctx, sys, t)
	}
	read := r.stamps(sys) // before the program reads them, so that a later change is seen
	before, err := children(sys, t.pid)
	if err != nil {
		return nil, err
	}
	// containerd delivers the signal, so that no other process can get it that has the
	// number of one that ended.
	c := r.pod().containerd(sys)
	if _, err := c.Run(ctx, "tasks", "kill", "--signal", "SIG"+r.signal(), t.container); err != nil {
		return nil, fmt.Errorf("sending SIG%s to container %s: %w", r.signal(), t.container, err)
	}
	began := time.Now()
	w := workers{sys: sys, main: t.pid, before: before}
	if err := httpcheck.Poll(ctx, cmp.Or(r.Timeout, defaultReloadTimeout), workersEvery, sys.Progress, w.try); err != nil {
		return nil, &engine.Failure{
			Message: fmt.Sprintf("static pod %s has not loaded its new configuration after SIG%s, and keeps the old one: %v", name, r.signal(), err),
			Detail:  lastLog(sys, t.manifest),
		}
	}
	if err := receipt.Write(sys, r.receiptPath(), reading{Container: t.container, Files: read}); err != nil {
		return nil, err
	}
	return engine.Output{"elapsed_seconds": time.Since(began).Seconds()}, nil
}

const defaultReloadTimeout = 30 * time.Second

// pod returns the gate that knows the manifest and its containerd.
func (r *Reload) pod() *Ready {
	return &Ready{Manifest: r.Manifest, Ctr: r.Ctr, Socket: r.Socket}
}

func (r *Reload) target(ctx context.Context, sys engine.System) (target, error) {
	m, err := r.pod().read(sys)
	t := target{manifest: m}
	if err != nil {
		return t, err
	}
	c := r.pod().containerd(sys)
	seen, err := look(ctx, c, m)
	if err != nil || seen.uid == "" {
		return t, err
	}
	t.container, err = seen.container(ctx, c, cmp.Or(r.Container, m.Spec.Containers[0].Name))
	t.pid = seen.up[t.container]
	return t, err
}
