package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"deployer/engine"
)

// load counts what happens at one time.
type load struct {
	mu        sync.Mutex
	now, peak int
}

func (l *load) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	l.peak = max(l.peak, l.now)
}

func (l *load) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now--
}

// forget begins to count anew, from what happens now.
func (l *load) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.peak = l.now
}

func (l *load) most() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peak
}

// watch returns a registry whose modules say when they are at work.
func (h *Host) watch(kinds []engine.Kind) engine.Registry {
	r := engine.NewRegistry(kinds)
	for name, k := range r {
		make := k.New
		if _, ok := make().(engine.Module); !ok {
			continue // prepared on the controller
		}
		k.New = func() any { return &watched{Module: make().(engine.Module), host: h, name: name} }
		r[name] = k
	}
	return r
}

// watched is a module that counts as load of the fleet while it works.
type watched struct {
	engine.Module
	host *Host
	name string
}

// UnmarshalJSON decodes the module's arguments as strictly as the agent does.
func (w *watched) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(w.Module)
}

// Check implements engine.Module.
func (w *watched) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	w.host.fleet.load.begin()
	defer w.host.fleet.load.end()
	if w.host.before != nil {
		w.host.before(ctx, w.host, w.name)
	}
	return w.Module.Check(ctx, sys)
}

// Apply implements engine.Module.
func (w *watched) Apply(ctx context.Context, sys engine.System, c engine.Change) (engine.Output, error) {
	w.host.fleet.load.begin()
	defer w.host.fleet.load.end()
	return w.Module.Apply(ctx, sys, c)
}
