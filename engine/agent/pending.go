package agent

import (
	"strings"
	"sync"

	"deployer/engine"
	"deployer/engine/transport"
)

// pending are the paths that the steps of a check would have changed.
type pending struct {
	mu    sync.Mutex
	paths map[string]bool
}

func (p *pending) add(c engine.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range c.Pending() {
		if e.Kind != engine.EffectFile {
			continue
		}
		if p.paths == nil {
			p.paths = map[string]bool{}
		}
		p.paths[e.Target] = true
	}
}

// has tells whether something at the path, or below it, would change.
func (p *pending) has(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paths[path] {
		return true
	}
	for changed := range p.paths {
		if strings.HasPrefix(changed, strings.TrimSuffix(path, "/")+"/") {
			return true
		}
	}
	return false
}

var _ engine.Foresight = (*system)(nil)

// WouldChange implements engine.Foresight.
func (s *system) WouldChange(path string) bool {
	return s.step.check && s.step.server.pending.has(path)
}

// asShown is a change as a plan has it: with its texts as they reach people.
func asShown(c engine.Change) engine.Change {
	effects := make([]engine.Effect, len(c.Effects))
	for i, e := range c.Effects {
		e.Target, e.Action, e.Diff = transport.Clean(e.Target), transport.Clean(e.Action), transport.Clean(cutEnd(e.Diff, maxDiff))
		effects[i] = e
	}
	c.Effects = effects
	return c
}
