package engine

import (
	"context"
	"net"
)

// Action is a task that runs on the controller on behalf of a host. Like a
// Module it holds its arguments and separates what is from what is done.
type Action interface {
	Check(ctx context.Context, site ActionContext) (Change, error)
	Apply(ctx context.Context, site ActionContext, change Change) (Output, error)
}

// ActionContext is what an action may use. It carries no terminal and no playbook, so
// that the same actions serve a service that runs on a master.
type ActionContext interface {
	// Host names the host that the action is for.
	Host() string
	// Step names the step: the same in the next run of the same playbook, and
	// none of another playbook.
	Step() string
	// Vars are the variables of that host at this moment, registered results
	// included.
	Vars() map[string]any
	// Targets are the hosts of the task that are still in the run, in
	// inventory order. For a run_once task these are all hosts of the play.
	Targets() []string
	// Registered returns what a host registered under name, nil when nothing.
	Registered(host, name string) Output
	// Dial opens a connection from a host to an address as seen by it, through
	// the host's SSH connection (direct-tcpip).
	Dial(ctx context.Context, host, network, address string) (net.Conn, error)
	// RunOn runs one host module on a host, outside of its cursor, and returns
	// its result; for reading what is there.
	RunOn(ctx context.Context, host, module string, args Module) (Result, error)
	// Reconnect waits until the connection to the action's host is lost, which
	// the action has brought about, and opens another one: again and again until
	// it succeeds or ctx ends. The host is locked for the run again, and its
	// facts are the new ones. It must be called by the goroutine of the action.
	Reconnect(ctx context.Context) error
	// Services are what the program that started the run gives its actions:
	// the keyring, the resolved cluster, clients. See Service.
	Services() Services
	// Progress reports what a long action is doing or waiting for.
	Progress(text string)
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
