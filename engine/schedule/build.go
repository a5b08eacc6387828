package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"deployer/engine"
	"deployer/engine/codec"
	"deployer/engine/lang"
	"deployer/engine/program"
)

// built is a task rendered for one host and item.
type built struct {
	step   *engine.Step
	action engine.Action
	// on is the machine to do it on, nil for the host's own.
	on    *link
	title string
	// late: it cannot be rendered before the segment is sent.
	late bool
	skip bool
	// unknown says, in a check, why it cannot be known what the task would do.
	unknown string
	reason  string
}

// build renders the task. The variables are as before when it returns.
func (h *host) build(ctx context.Context, c *call, at *iteration) (*built, error) {
	t := c.task
	defer h.vars.PopTo(h.vars.Depth())
	at.push(t, h.vars)
	if t.WhenPerItem() {
		ok, reason, err := t.Applies(h.vars)
		if err != nil || !ok {
			return &built{skip: true, reason: reason}, err
		}
	}
	if err := h.vars.PushScope(t.Scopes, t.Refs()); err != nil {
		return nil, err
	}
	title, err := t.Title(h.vars)
	if err != nil {
		return nil, err
	}
	b := &built{title: title}
	if t.Delegate != nil {
		on, err := h.delegate(t)
		if err != nil {
			return nil, err
		}
		b.on = on
	}
	module, raw := t.Kind.Name, t.FixedArgs
	if same, ok := h.run.same.of(t); ok {
		module, raw = same.module, same.args
	}
	if raw == nil {
		args, err := t.BuildArgs(h.vars)
		if err != nil {
			return nil, err
		}
		if args == nil {
			return &built{skip: true, reason: "there is nothing to wait for"}, nil
		}
		if action, ok := args.(engine.Action); ok {
			b.action = action
			return b, nil
		}
		site := &preparation{host: h, ctx: ctx, task: t, on: cmp.Or(b.on, h.link)}
		if p, ok := args.(engine.Preparer); ok {
			module, args, err = prepare(ctx, p, site)
			if site.late {
				b.late = true
				return b, nil
			}
			if u := (unknowable{}); errors.As(err, &u) {
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
		if !site.personal && !t.Args.Templated() {
			h.run.same.keep(t, prepared{module, raw})
		}
	}
	b.step = &engine.Step{ID: stepID(c.id, at), Name: b.title, Module: module, Args: raw, OnChange: c.onChange,
		IgnoreErrors: t.IgnoreErrors, Timeout: t.Timeout, Secret: t.Secret}
	if b.on == nil { // another host must not remember what this one owes
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

func prepare(ctx context.Context, p engine.Preparer, site *preparation) (string, any, error) {
	name, module, err := p.Prepare(ctx, site)
	if err != nil {
		return "", nil, err
	}
	if _, known := site.host.run.opts.Registry[name]; !known {
		return "", nil, fmt.Errorf("%s is made into the module %q, which does not exist", site.task.Kind.Name, name)
	}
	return name, module, nil
}

// preparation is the controller as a Preparer sees it.
type preparation struct {
	host *host
	ctx  context.Context
	task *program.Task
	on   *link // where it will run
	late bool
	// personal: it has looked at something that only this host has.
	personal bool
}

// unknowable says why a file cannot be rendered in a check.
type unknowable struct{ why string }

// Error makes unknowable an error.
func (u unknowable) Error() string { return u.why }

var errLate = errors.New("waits for the result of an earlier step")

// Host names the host that the task is for.
func (p *preparation) Host() string {
	p.personal = true
	return p.host.name
}

// Vars are the variables of the host at this moment.
func (p *preparation) Vars() map[string]any {
	p.personal = true
	if len(p.host.seg.names) > 0 {
		p.late = true
	}
	_ = p.host.vars.PushScope(p.task.Scopes, lang.Everything()) // as for site.Vars
	return p.host.vars.Clone()
}

// Render renders a template file with the host's variables.
func (p *preparation) Render(name string) ([]byte, error) {
	p.personal = true
	text, err := p.host.render(p.task, name)
	p.late = p.late || errors.Is(err, errLate)
	return text, err
}

// render renders a template file for a task; errLate when it looks at what the
// segment will register. The caller takes the task's variables away again.
func (h *host) render(t *program.Task, name string) ([]byte, error) {
	tpl, err := t.Files.Template(name)
	if err != nil {
		return nil, err
	}
	if len(h.seg.names) > 0 || len(h.unsure) > 0 {
		refs := t.Closure(tpl.Refs())
		if h.seg.registers(refs) {
			return nil, errLate
		}
		if why := h.unknowable(refs); why != "" {
			return nil, unknowable{why}
		}
	}
	if err := h.vars.PushScope(t.Scopes, tpl.Refs()); err != nil {
		return nil, err
	}
	text, err := tpl.Text(h.vars.Map())
	return []byte(text), err
}

// File reads a plain file of the role or playbook.
func (p *preparation) File(name string) ([]byte, error) { return p.task.Files.File(name) }

// Walk lists a directory of the role's or playbook's files.
func (p *preparation) Walk(name string) ([]engine.FileEntry, error) { return p.task.Files.Walk(name) }

// AddBlob makes content available to hosts.
func (p *preparation) AddBlob(content []byte) string { return p.blobs().AddBlob(content) }

// roleFile tells files of one run apart.
type roleFile struct {
	of   *lang.Files
	name string
}

// FileBlob makes a plain file of the role or playbook available to hosts.
func (p *preparation) FileBlob(ctx context.Context, name string) (engine.Blob, error) {
	files := p.task.Files
	return p.blobs().AddFile(ctx, roleFile{files, name}, func() (io.ReadCloser, error) { return files.Open(name) })
}

// Download makes what is at a URL available to hosts.
func (p *preparation) Download(ctx context.Context, url, digest string) (engine.Blob, error) {
	return p.blobs().Download(ctx, url, digest)
}

func (p *preparation) blobs() Blobs {
	if p.host.run.opts.Blobs == nil {
		panic("this run was started without a store for blobs")
	}
	return p.host.run.opts.Blobs
}

// Artifact names the blob of an artifact for the architecture of where it goes.
func (p *preparation) Artifact(ctx context.Context, name, version string) (engine.Blob, error) {
	p.personal = true // of its architecture
	if p.host.run.opts.Artifacts == nil {
		return engine.Blob{}, errors.New("this run was started without a source of artifacts")
	}
	run := p.host.run
	session, err := p.on.get(ctx, run.stop, run.opts.Retry.Attempts)
	if err != nil {
		return engine.Blob{}, err
	}
	return run.opts.Artifacts.Artifact(ctx, name, version, session.Facts().Arch)
}
