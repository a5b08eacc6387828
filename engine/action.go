package engine

import (
	"context"
	"net"
)

// Action is a task that runs on the controller on behalf of a host. Like a Module, the
// implementing struct holds the task's arguments, and Check changes nothing.
type Action interface {
	Check(ctx context.Context, actx ActionContext) (Change, error)
	Apply(ctx context.Context, actx ActionContext, change Change) (Output, error)
}

// ActionContext is the interface of an action to its run. ActionContext has no terminal and no
// playbook, so that a service can run the same actions.
type ActionContext interface {
	// Host returns the name of the host that the action is for.
	Host() string
	// Step returns the id of the step: the same in the next run of the playbook, and
	// different from all ids of other playbooks.
	Step() string
	// RunID returns the id of the run.
	RunID() string
	// CheckOnly reports whether the run is in check mode. Actions that wait for a
	// service do not wait then, because check mode starts no service.
	CheckOnly() bool
	// Vars returns the current variables of the host, registered results included.
	Vars() map[string]any
	// Targets returns the hosts of the task that are still in the run, in inventory
	// order: for a run_once task, all hosts of the play.
	Targets() []string
	// Registered returns the result that a host registered under name, or nil.
	Registered(host, name string) Output
	// Dial opens a connection from a host to an address, resolved on that host,
	// through the host's SSH connection (direct-tcpip).
	Dial(ctx context.Context, host, network, address string) (net.Conn, error)
	// RunOn runs one read-only module on a host, independent of the host's place in
	// the playbook, and returns its result.
	RunOn(ctx context.Context, host, module string, args Module) (Result, error)
	// Reconnect waits until the connection to the action's host is lost, because of
	// the action, and opens a new one: it retries until it succeeds or ctx ends. Reconnect
	// locks the host again and updates its facts. Only the goroutine of the action may
	// call it.
	Reconnect(ctx context.Context) error
	// Services returns the services of the run for its actions: the keyring, the
	// resolved cluster, clients. See Service.
	Services() Services
	// Progress reports to people what a long action does or waits for. A view may omit it.
	Progress(text string)
	// Warn reports a warning to people. Every view shows it, and the run continues.
	Warn(text string)
}

// Services holds one value for each type; see Provide and Service.
type Services map[any]any

type serviceKey[T any] struct{}

// Provide stores the service of type T.
func Provide[T any](s Services, value T) { s[serviceKey[T]{}] = value }

// Service returns the service of type T, and false when none was provided.
func Service[T any](s Services) (T, bool) {
	v, ok := s[serviceKey[T]{}].(T)
	return v, ok
}
