// Package actiontest has an engine.ActionContext for tests of actions.
package actiontest

import (
	"context"
	"fmt"
	"net"
	"sync"

	"deployer/engine"
)

// Context is an engine.ActionContext that answers with the values of its fields. The
// zero value is a context without hosts.
type Context struct {
	Name     string
	Run      string // id of the run
	Check    bool   // check mode
	Hosts    []string
	Values   map[string]any
	Results  map[string]map[string]engine.Output // host -> registered name -> output
	DialFunc func(ctx context.Context, host, network, address string) (net.Conn, error)
	RunFunc  func(ctx context.Context, host, module string, args engine.Module) (engine.Result, error)
	// ReconnectFunc implements Reconnect; without it the host stays down.
	ReconnectFunc func(ctx context.Context) error
	Provided      engine.Services

	mu       sync.Mutex
	texts    []string
	warnings []string
}

var _ engine.ActionContext = (*Context)(nil)

// Host implements engine.ActionContext.
func (c *Context) Host() string { return c.Name }

// RunID implements engine.ActionContext.
func (c *Context) RunID() string { return c.Run }

// CheckOnly implements engine.ActionContext.
func (c *Context) CheckOnly() bool { return c.Check }

// Vars implements engine.ActionContext.
func (c *Context) Vars() map[string]any { return c.Values }

// Targets implements engine.ActionContext.
func (c *Context) Targets() []string { return c.Hosts }

// Registered implements engine.ActionContext.
func (c *Context) Registered(host, name string) engine.Output { return c.Results[host][name] }

// Dial implements engine.ActionContext; without a DialFunc every host is unreachable.
func (c *Context) Dial(ctx context.Context, host, network, address string) (net.Conn, error) {
	if c.DialFunc == nil {
		return nil, fmt.Errorf("host %s is unreachable", host)
	}
	return c.DialFunc(ctx, host, network, address)
}

// RunOn implements engine.ActionContext.
func (c *Context) RunOn(ctx context.Context, host, module string, args engine.Module) (engine.Result, error) {
	if c.RunFunc == nil {
		return engine.Result{}, fmt.Errorf("host %s is unreachable", host)
	}
	return c.RunFunc(ctx, host, module, args)
}

// Step implements engine.ActionContext.
func (c *Context) Step() string { return "site.yaml/1..1/" + c.Name }

// Reconnect implements engine.ActionContext.
func (c *Context) Reconnect(ctx context.Context) error {
	if c.ReconnectFunc == nil {
		return fmt.Errorf("host %s is unreachable", c.Name)
	}
	return c.ReconnectFunc(ctx)
}

// Services implements engine.ActionContext.
func (c *Context) Services() engine.Services { return c.Provided }

// Progress implements engine.ActionContext and records the text.
func (c *Context) Progress(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, text)
}

// Texts returns what was reported as progress.
func (c *Context) Texts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.texts...)
}

// Warn implements engine.ActionContext and records the text.
func (c *Context) Warn(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warnings = append(c.warnings, text)
}

// Warnings returns the warnings.
func (c *Context) Warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.warnings...)
}
