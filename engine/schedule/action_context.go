package schedule

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"

	"deployer/engine"
	"deployer/engine/lang"
)

// actionContext is the run as an action sees it.
type actionContext struct {
	host *host
	call *taskCall
	step *engine.Step
	at   *iteration
	// vars are copied when first asked for; actions may ask from anywhere.
	once sync.Once
	vars map[string]any
}

// Host names the host that the action is for.
func (s *actionContext) Host() string { return s.host.name }

// Vars are the variables of that host at this moment.
func (s *actionContext) Vars() map[string]any {
	s.once.Do(func() { s.vars = s.copyVars() })
	return s.vars
}

func (s *actionContext) copyVars() map[string]any {
	h := s.host
	defer h.vars.PopTo(h.vars.Depth())
	s.at.push(s.call.task, h.vars)
	// A variable that cannot be rendered here is one that the task does not
	// use: what it uses was rendered with its arguments.
	_ = h.vars.PushScope(s.call.task.Scopes, lang.Everything())
	return h.vars.Clone()
}

// Targets are the hosts of the play, or of the host's batch, that are still in
// the run.
func (s *actionContext) Targets() []string {
	p := s.call.task.Play
	return s.host.run.live(p, s.host.batches[p.Index])
}

// Render renders a template file of the role or playbook that the task stands
// in. It is for actions that take one, beside what engine.ActionContext asks for.
func (s *actionContext) Render(name string) ([]byte, error) {
	h := s.host
	defer h.vars.PopTo(h.vars.Depth())
	s.at.push(s.call.task, h.vars)
	return h.renderFile(s.call.task, name)
}

// Registered returns what a host registered under name.
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
	session, err := s.session(ctx, host)
	if err != nil {
		return nil, err
	}
	return session.Dial(ctx, network, address)
}

// RunOn runs one host module on a host.
func (s *actionContext) RunOn(ctx context.Context, host, module string, args engine.Module) (engine.Result, error) {
	session, err := s.session(ctx, host)
	if err != nil {
		return engine.Result{}, err
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return engine.Result{}, fmt.Errorf("arguments of %s: %w", module, err)
	}
	step := engine.Step{ID: s.step.ID + "." + module, Name: s.step.Name, Module: module, Args: raw, Secret: s.step.Secret}
	return s.host.runStep(ctx, session, step)
}

// session is that of a host of the run, which sees to its connection itself. One
// that has no part in the run, such as a master when a playbook is for minions
// only, is connected to when an action first asks for it; that goes on when the
// caller does not wait for it, and is given up for the run when it fails.
func (s *actionContext) session(ctx context.Context, host string) (Host, error) {
	r := s.host.run
	if h := r.byName[host]; h != nil && r.takesPart(h) {
		if session := h.live(); session != nil {
			return session, nil
		}
		return nil, fmt.Errorf("there is no connection to %s", host)
	}
	l := r.connections.host(r, host)
	if session := l.live(); session != nil && !ended(session) {
		return session, nil
	} else if session != nil {
		l.drop(session)
	}
	type opened struct {
		session *session
		err     error
	}
	got := make(chan opened, 1)
	go func() {
		session, err := l.get(r.stop, r.stop, 1)
		got <- opened{session, err}
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

// ended tells whether a connection is over, where it can tell.
func ended(s *session) bool {
	connection, ok := s.Host.(interface{ Lost() <-chan struct{} })
	if !ok {
		return false
	}
	select {
	case <-connection.Lost():
		return true
	default:
		return false
	}
}

// Step names the step, the same in the next run of the same playbook.
func (s *actionContext) Step() string {
	return s.host.run.prog.Name + "/" + s.step.ID + "/" + s.call.task.Name
}

// Reconnect waits until the connection is lost, and opens another one.
func (s *actionContext) Reconnect(ctx context.Context) error {
	if err := s.host.connection.reopen(ctx); err != nil {
		return err
	}
	return s.host.refresh()
}

// Services are what the program that started the run gives its actions.
func (s *actionContext) Services() engine.Services { return s.host.run.opts.Services }

// Progress reports what the action is doing or waiting for.
func (s *actionContext) Progress(text string) {
	s.host.run.emit(engine.Event{Type: engine.EventStepText, Host: s.host.name, Step: s.step.ID, Name: s.step.Name,
		Role: s.call.task.Role, Text: text})
}
