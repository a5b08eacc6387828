package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"deployer/engine"
)

// concurrency counts operations in flight and their peak.
type concurrency struct {
	mu        sync.Mutex
	now, peak int
}

func (l *concurrency) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	l.peak = max(l.peak, l.now)
}

func (l *concurrency) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now--
}

// reset sets the peak to the present number.
func (l *concurrency) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.peak = l.now
}

func (l *concurrency) max() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peak
}

// observe returns a registry whose modules count their work.
func (h *Host) observe(kinds []engine.Kind) engine.Registry {
	r := engine.NewRegistry(kinds)
	for name, k := range r {
		make := k.New
		if _, ok := make().(engine.Module); !ok {
			continue // prepared on the controller
		}
		k.New = func() any { return &observedModule{Module: make().(engine.Module), host: h, name: name} }
		r[name] = k
	}
	return r
}

// observedModule counts as an operation in flight while it checks or applies.
type observedModule struct {
	engine.Module
	host *Host
	name string
}

// UnmarshalJSON decodes the module's arguments as strictly as the agent does.
func (w *observedModule) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(w.Module)
}

// Check implements engine.Module.
func (w *observedModule) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	w.host.fleet.load.begin()
	defer w.host.fleet.load.end()
	if w.host.before != nil {
		w.host.before(ctx, w.host, w.name)
	}
	return w.Module.Check(ctx, sys)
}

// Apply implements engine.Module.
func (w *observedModule) Apply(ctx context.Context, sys engine.System, c engine.Change) (engine.Output, error) {
	w.host.fleet.load.begin()
	defer w.host.fleet.load.end()
	return w.Module.Apply(ctx, sys, c)
}
