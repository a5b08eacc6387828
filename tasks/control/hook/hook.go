// Package hook runs programs on the controller and sends HTTP requests from it, to
// inform other systems about work on a host: a load balancer, a database, a ticket.
package hook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// defaultTimeout is the default of timeout: load balancers drain connections, and
// databases move their leaders, within minutes.
const defaultTimeout = 5 * time.Minute

// Hook is the action `hook`.
type Hook struct {
	Command hostcmd.Words     `yaml:"command" rule:"text" doc:"Program with arguments to run on the controller, as a list or a text, without a shell; exit code 0 is success."`
	Env     map[string]string `yaml:"env" rule:"text" keys:"environment" doc:"Variables of the program's environment, beside those of deployer and DEPLOYER_HOST, DEPLOYER_ADDRESS, DEPLOYER_CLUSTER, DEPLOYER_PHASE and DEPLOYER_RUN."`
	HTTP    *Request          `yaml:"http" doc:"HTTP request to send from the controller."`
	Phase   string            `yaml:"phase" rule:"line" doc:"Text for DEPLOYER_PHASE, such as before. Default: empty."`
	Host    string            `yaml:"host" rule:"line" doc:"Value of DEPLOYER_HOST, such as the name of a host that is gone. Default: the host of the task."`
	Address string            `yaml:"address" rule:"line" doc:"Value of DEPLOYER_ADDRESS. Default: the address of the host of the task."`
	Timeout time.Duration     `yaml:"timeout" range:"1ms.." doc:"Maximum duration of the program or request, such as 90s; after it the task fails, and the program is terminated. Default 5m; it cannot be unlimited."`
}

// New returns the action with its defaults.
func New() *Hook { return &Hook{Timeout: defaultTimeout} }

var (
	_ engine.Action      = (*Hook)(nil)
	_ engine.Cancellable = (*Hook)(nil)
)

// Cancellable is true: an interrupt of the run terminates the program.
func (*Hook) Cancellable() bool { return true }

// Valid implements engine.Validator: it requires a command or a request, and a time limit.
func (h *Hook) Valid() error {
	switch {
	case len(h.Command) == 0 && h.HTTP == nil:
		return errors.New("want command or http")
	case len(h.Command) > 0 && h.HTTP != nil:
		return errors.New("command and http are two hooks: write two tasks")
	case h.HTTP != nil && len(h.Env) > 0:
		return errors.New("env is for command")
	case h.Timeout <= 0:
		return fmt.Errorf("timeout %s: a hook needs a time limit, such as 5m", h.Timeout)
	}
	if h.HTTP != nil {
		return h.HTTP.validate()
	}
	return nil
}

// Check changes nothing and contacts no system: a hook always runs.
func (h *Hook) Check(context.Context, engine.ActionContext) (engine.Change, error) {
	if err := h.Valid(); err != nil {
		return engine.Change{}, err
	}
	effect := engine.Effect{Kind: engine.EffectCommand, Target: hostcmd.Quote(h.Command), Action: "run on the controller"}
	if h.HTTP != nil {
		effect.Target, effect.Action = h.HTTP.method()+" "+h.HTTP.URL, "send from the controller"
	}
	return engine.Changed(effect), nil
}

// Apply runs the hook. The output of a command has the ends of stdout and stderr;
// that of a request has status.
func (h *Hook) Apply(ctx context.Context, actx engine.ActionContext, _ engine.Change) (engine.Output, error) {
	return h.run(ctx, h.environment(actx), " on the controller")
}

// Run runs the hook for programs that run no playbook. environment are variables of a command's environment beside
// those of this process, as NAME=value.
func (h *Hook) Run(ctx context.Context, environment []string) (engine.Output, error) {
	return h.run(ctx, environment, "")
}

// run runs the hook. place follows the program in messages.
func (h *Hook) run(ctx context.Context, environment []string, place string) (engine.Output, error) {
	limited, cancel := context.WithTimeoutCause(ctx, h.Timeout, fmt.Errorf("not done within %s", h.Timeout))
	defer cancel()
	if h.HTTP != nil {
		return h.HTTP.send(limited)
	}
	return run(limited, h.Command, environment, place)
}

// environment returns the variables that the program has beside those of deployer, for a host of a run.
func (h *Hook) environment(actx engine.ActionContext) []string {
	vars := actx.Vars()
	out := []string{
		"DEPLOYER_HOST=" + cmp.Or(h.Host, actx.Host()),
		"DEPLOYER_ADDRESS=" + cmp.Or(h.Address, text(vars, "host", "address")),
		"DEPLOYER_CLUSTER=" + text(vars, "cluster", "name"),
		"DEPLOYER_PHASE=" + h.Phase,
		"DEPLOYER_RUN=" + actx.RunID(),
	}
	for name, value := range h.Env {
		out = append(out, name+"="+value)
	}
	return out
}

// text returns the value of a variable that is a text; empty when there is none.
func text(vars map[string]any, name, key string) string {
	m, _ := vars[name].(map[string]any)
	s, _ := m[key].(string)
	return strings.ReplaceAll(s, "\x00", "")
}
