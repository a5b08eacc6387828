// Package sitetest has an engine.ActionContext for tests of actions.
package sitetest

import (
	"context"
	"fmt"
	"net"
	"sync"

	"deployer/engine"
)

// Site is an engine.ActionContext whose answers are given by its fields. The zero value
// is a site without hosts.
type Site struct {
	Name     string
	Run      string // id of the run
	Check    bool   // check mode
	Hosts    []string
	Values   map[string]any
	Results  map[string]map[string]engine.Output // host -> registered name -> output
	DialFunc func(ctx context.Context, host, network, address string) (net.Conn, error)
	RunFunc  func(ctx context.Context, host, module string, args engine.Module) (engine.Result, error)
	// ReconnectFunc is what Reconnect does; without it the host stays away.
	ReconnectFunc func(ctx context.Context) error
	Provided      engine.Services

	mu    sync.Mutex
	texts []string
}

var _ engine.ActionContext = (*Site)(nil)

// Host implements engine.ActionContext.
func (s *Site) Host() string { return s.Name }

// RunID implements engine.ActionContext.
func (s *Site) RunID() string { return s.Run }

// CheckOnly implements engine.ActionContext.
func (s *Site) CheckOnly() bool { return s.Check }

// Vars implements engine.ActionContext.
func (s *Site) Vars() map[string]any { return s.Values }

// Targets implements engine.ActionContext.
func (s *Site) Targets() []string { return s.Hosts }

// Registered implements engine.ActionContext.
func (s *Site) Registered(host, name string) engine.Output { return s.Results[host][name] }

// Dial implements engine.ActionContext; without a DialFunc every host is unreachable.
func (s *Site) Dial(ctx context.Context, host, network, address string) (net.Conn, error) {
	if s.DialFunc == nil {
		return nil, fmt.Errorf("host %s is unreachable", host)
	}
	return s.DialFunc(ctx, host, network, address)
}

// RunOn implements engine.ActionContext.
func (s *Site) RunOn(ctx context.Context, host, module string, args engine.Module) (engine.Result, error) {
	if s.RunFunc == nil {
		return engine.Result{}, fmt.Errorf("host %s is unreachable", host)
	}
	return s.RunFunc(ctx, host, module, args)
}

// Step implements engine.ActionContext.
func (s *Site) Step() string { return "site.yaml/1..1/" + s.Name }

// Reconnect implements engine.ActionContext.
func (s *Site) Reconnect(ctx context.Context) error {
	if s.ReconnectFunc == nil {
		return fmt.Errorf("host %s is unreachable", s.Name)
	}
	return s.ReconnectFunc(ctx)
}

// Services implements engine.ActionContext.
func (s *Site) Services() engine.Services { return s.Provided }

// Progress implements engine.ActionContext and records the text.
func (s *Site) Progress(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts = append(s.texts, text)
}

// Texts returns what was reported as progress.
func (s *Site) Texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.texts...)
}
