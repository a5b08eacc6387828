package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/sanitize"
	"deployer/engine/session"
)

// actionContext implements engine.ActionContext.
type actionContext struct {
	host *host
	call *taskCall
	step *engine.Step
	at   *iteration
	stop context.Context // ends when the action must not begin anything
	// vars are copied at the first call of Vars; actions may call it from any
	// goroutine.
	once sync.Once
	vars map[string]any
}

// Host returns the name of the host.
func (s *actionContext) Host() string { return s.host.name }

// RunID returns the id of the run.
func (s *actionContext) RunID() string { return s.host.run.opts.RunID }

// CheckOnly reports whether the run is in check mode.
func (s *actionContext) CheckOnly() bool { return s.host.run.opts.CheckOnly }

// Vars returns the current variables of the host.
func (s *actionContext) Vars() map[string]any {
	s.once.Do(func() { s.vars = s.copyVars() })
	return s.vars
}

func (s *actionContext) copyVars() map[string]any {
	h := s.host
	defer h.vars.PopTo(h.vars.Depth())
	s.at.push(s.call.task, h.vars)
	// A variable that cannot be rendered here is one that the task does not use: the
	// variables that it uses were rendered with its arguments.
	_ = h.vars.PushScope(s.call.task.Scopes, lang.Everything())
	return h.vars.Clone()
}

// Targets returns the hosts of the play, or of the host's batch, that are still in the run.
func (s *actionContext) Targets() []string {
	p := s.call.task.Play
	return s.host.run.live(p, s.host.batches[p.Index])
}

// Render renders a template file of the task's role or playbook, for actions that take one;
// engine.ActionContext does not have it.
func (s *actionContext) Render(name string) ([]byte, error) {
	h := s.host
	defer h.vars.PopTo(h.vars.Depth())
	s.at.push(s.call.task, h.vars)
	return h.renderFile(s.call.task, name)
}

// Registered returns the result that a host registered under name, or nil.
func (s *actionContext) Registered(host, name string) engine.Output {
	h := s.host.run.byName[host]
	if h == nil {
		return nil
	}
	v, _ := h.registeredMap(name)
	return v
}

// Dial opens a connection from a host.
func (s *actionContext) Dial(ctx context.Context, host, network, address string) (net.Conn, error) {
	on, err := s.session(ctx, host)
	if err != nil {
		return nil, err
	}
	return on.Dial(ctx, network, address)
}

// RunOn runs one host module on a host.
func (s *actionContext) RunOn(ctx context.Context, host, module string, args engine.Module) (engine.Result, error) {
	on, err := s.session(ctx, host)
	if err != nil {
		return engine.Result{}, err
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return engine.Result{}, fmt.Errorf("arguments of %s: %w", module, err)
	}
	step := engine.Step{ID: s.step.ID + "." + module, Name: s.step.Name, Module: module, Args: raw, Secret: s.step.Secret}
	return s.host.runStep(ctx, on, step)
}

// session returns the session of a host of the run, which connects itself. session connects to
// other hosts on first use; the attempt continues when the caller stops waiting, and its
// failure is final for the run.
func (s *actionContext) session(ctx context.Context, host string) (session.Session, error) {
	r := s.host.run
	if h := r.byName[host]; h != nil && r.takesPart(h) {
		if live := h.live(); live != nil {
			return live, nil
		}
		return nil, fmt.Errorf("there is no connection to %s", host)
	}
	l := r.connections.Host(host)
	if live := l.Live(); live != nil && !session.IsLost(live) {
		return live, nil
	} else if live != nil {
		l.Drop(live)
	}
	type opened struct {
		session session.Session
		err     error
	}
	got := make(chan opened, 1)
	go func() {
		s, err := l.Get(s.stop, s.stop, 1)
		got <- opened{s, asHostFailure(err)}
	}()
	select {
	case o := <-got:
		if o.err != nil {
			return nil, o.err
		}
		return o.session, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Step returns the id of the step, the same in the next run of the playbook.
func (s *actionContext) Step() string {
	return s.host.run.prog.Name + "/" + s.step.ID + "/" + s.call.task.Name
}

// Reconnect waits until the connection is lost, and opens a new one.
func (s *actionContext) Reconnect(ctx context.Context) error {
	if err := s.host.connection.Reopen(ctx); err != nil {
		return err
	}
	return s.host.refresh()
}

// Services returns the services of the run.
func (s *actionContext) Services() engine.Services { return s.host.run.opts.Services }

// Warn emits a warning, of a run_once task without a host. An action that withholds its texts
// emits none, and a preview neither: the action runs again.
func (s *actionContext) Warn(text string) {
	if withholdsTexts(s.call.task) || s.host.preview != nil {
		return
	}
	e := engine.Event{Type: engine.EventWarning, Host: s.host.name, Text: sanitize.Text(text)}
	if s.call.task.RunOnce {
		e.Host = ""
	}
	s.host.run.emit(e)
}

// Progress reports what the action does or waits for; of an action that withholds its texts,
// nothing.
func (s *actionContext) Progress(text string) {
	if withholdsTexts(s.call.task) {
		return
	}
	s.host.run.emit(engine.Event{Type: engine.EventStepText, Host: s.host.name, Step: s.step.ID, Name: s.step.Name,
		Role: s.call.task.Role, Text: sanitize.Text(text)})
}
