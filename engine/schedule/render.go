package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/engine/protocol/codec"
	"deployer/engine/session"
)

// rendered is a task rendered for one host and item.
type rendered struct {
	step   *engine.Step
	action engine.Action
	// delegate is the machine that runs the task; nil for the host itself.
	delegate *session.Connection
	title    string
	// needsFlush is true when the task reads a result of the segment that is not sent yet.
	needsFlush bool
	skip       bool
	// unknown is the reason, in check mode, why the effect of the task is unknown.
	unknown string
	reason  string
}

// render renders the task. render leaves the variables unchanged.
func (h *host) render(ctx context.Context, c *taskCall, at *iteration) (*rendered, error) {
	t := c.task
	defer h.vars.PopTo(h.vars.Depth())
	at.push(t, h.vars)
	if t.WhenPerItem() {
		ok, reason, err := t.Applies(h.vars)
		if err != nil || !ok {
			return &rendered{skip: true, reason: reason}, err
		}
	}
	if err := h.vars.PushScope(t.Scopes, t.Refs()); err != nil {
		return nil, err
	}
	title, err := t.Title(h.vars)
	if err != nil {
		return nil, err
	}
	b := &rendered{title: title}
	if t.Delegate != nil {
		on, err := h.delegateTo(t)
		if err != nil {
			return nil, err
		}
		b.delegate = on
	}
	module, raw := t.Kind.Name, t.FixedArgs
	if same, ok := h.run.args.of(t); ok {
		module, raw = same.module, same.args
	}
	if raw == nil {
		args, err := t.BuildArgs(h.vars)
		if err != nil {
			return nil, err
		}
		if args == nil {
			return &rendered{skip: true, reason: "there is nothing to wait for"}, nil
		}
		if action, ok := args.(engine.Action); ok {
			b.action = action
			return b, nil
		}
		prep := &prepareContext{host: h, ctx: ctx, task: t, on: cmp.Or(b.delegate, h.connection)}
		if p, ok := args.(engine.Preparer); ok {
			module, args, err = prepare(ctx, p, prep)
			if prep.needsFlush {
				b.needsFlush = true
				return b, nil
			}
			if u := (unknownError{}); errors.As(err, &u) {
				b.unknown = u.why
				return b, nil
			}
			if err != nil {
				return nil, err
			}
		}
		if raw, err = codec.Args(args, h.run.opts.Registry[module].New()); err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", module, err)
		}
		if !prep.personal && !t.Args.Templated() {
			h.run.args.keep(t, preparedArgs{module, raw})
		}
	}
	b.step = &engine.Step{ID: stepID(c.id, at), Name: b.title, Module: module, Args: raw, OnChange: c.onChange,
		IgnoreErrors: t.IgnoreErrors, Timeout: t.Timeout, Secret: t.Secret}
	if b.delegate == nil { // handlers of this host are not pending on another
		h.noteHandlers(b.step, t, at)
	}
	b.step.Expect = h.expect(b.step.ID)
	if t.Until == nil && h.preview == nil {
		b.step.Retries, b.step.Delay = t.Retries, t.Delay
	}
	if b.step.User, err = t.User(h.vars); err != nil {
		return nil, err
	}
	b.step.Env, err = t.Env(h.vars)
	return b, err
}

func prepare(ctx context.Context, p engine.Preparer, prep *prepareContext) (string, any, error) {
	name, module, err := p.Prepare(ctx, prep)
	if err != nil {
		return "", nil, err
	}
	if _, known := prep.host.run.opts.Registry[name]; !known {
		return "", nil, fmt.Errorf("%s is made into the module %q, which does not exist", prep.task.Kind.Name, name)
	}
	return name, module, nil
}

// prepareContext implements engine.PrepareContext.
type prepareContext struct {
	host       *host
	ctx        context.Context
	task       *program.Task
	on         *session.Connection // the machine that runs the task
	needsFlush bool
	// personal is true when the task has read something that only this host has.
	personal bool
}

// unknownError is the reason why a file cannot be rendered in check mode.
type unknownError struct{ why string }

// Error returns the reason.
func (u unknownError) Error() string { return u.why }

var errNeedsFlush = errors.New("waits for the result of an earlier step")

// Host returns the name of the host.
func (p *prepareContext) Host() string {
	p.personal = true
	return p.host.name
}

// Vars returns the current variables of the host.
func (p *prepareContext) Vars() map[string]any {
	p.personal = true
	if len(p.host.seg.names) > 0 {
		p.needsFlush = true
	}
	_ = p.host.vars.PushScope(p.task.Scopes, lang.Everything()) // as for actionContext.Vars
	return p.host.vars.Clone()
}

// Render renders a template file with the host's variables.
func (p *prepareContext) Render(name string) ([]byte, error) {
	p.personal = true
	text, err := p.host.renderFile(p.task, name)
	p.needsFlush = p.needsFlush || errors.Is(err, errNeedsFlush)
	return text, err
}

// renderFile renders a template file for a task. The error is errNeedsFlush when the file
// reads a result of the segment. The caller ends the scope of the task's variables.
func (h *host) renderFile(t *program.Task, name string) ([]byte, error) {
	tpl, err := t.Files.Template(name)
	if err != nil {
		return nil, err
	}
	if len(h.seg.names) > 0 || len(h.tentativeVars) > 0 {
		refs := t.Closure(tpl.Refs())
		if h.seg.registers(refs) {
			return nil, errNeedsFlush
		}
		if why := h.unknownReason(refs); why != "" {
			return nil, unknownError{why}
		}
	}
	if err := h.vars.PushScope(t.Scopes, tpl.Refs()); err != nil {
		return nil, err
	}
	text, err := tpl.Content(h.vars.Map())
	return []byte(text), err
}

// File reads a plain file of the role or playbook.
func (p *prepareContext) File(name string) ([]byte, error) { return p.task.Files.File(name) }

// Walk lists a directory of the role's or playbook's files.
func (p *prepareContext) Walk(name string) ([]engine.FileEntry, error) {
	return p.task.Files.Walk(name)
}

// AddBlob makes content available to hosts.
func (p *prepareContext) AddBlob(content []byte) string { return p.blobs().AddBlob(content) }

// roleFile identifies a file of a role or playbook.
type roleFile struct {
	of   *lang.Files
	name string
}

// FileBlob makes a plain file of the role or playbook available to hosts.
func (p *prepareContext) FileBlob(ctx context.Context, name string) (engine.Blob, error) {
	files := p.task.Files
	return p.blobs().AddFile(ctx, roleFile{files, name}, func() (io.ReadCloser, error) { return files.Open(name) })
}

// Download makes the content of a URL available to hosts.
func (p *prepareContext) Download(ctx context.Context, url, digest string) (engine.Blob, error) {
	return p.blobs().Download(ctx, url, digest)
}

func (p *prepareContext) blobs() Blobs {
	if p.host.run.opts.Blobs == nil {
		panic("this run was started without a store for blobs")
	}
	return p.host.run.opts.Blobs
}

// Artifact returns the blob of an artifact for the architecture of the machine that runs
// the task.
func (p *prepareContext) Artifact(ctx context.Context, name, version string) (engine.Blob, error) {
	p.personal = true // the result depends on the architecture
	if p.host.run.opts.Artifacts == nil {
		return engine.Blob{}, errors.New("this run was started without a source of artifacts")
	}
	run := p.host.run
	on, err := p.on.Get(ctx, p.host.stop(), run.opts.Retry.Attempts)
	if err != nil {
		return engine.Blob{}, asHostFailure(err)
	}
	return run.opts.Artifacts.Artifact(ctx, name, version, on.Facts().Arch)
}
