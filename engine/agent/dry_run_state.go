package agent

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"deployer/engine"
	"deployer/engine/sanitize"
)

// dryRunState records what the steps of a check would have changed, so that later
// steps of the same check can take it into account.
type dryRunState struct {
	mu    sync.Mutex
	paths map[string]string // path -> action
	// opaque is true after a change that may create any file.
	opaque bool
}

// add records the effects of one step's change.
func (p *dryRunState) add(c engine.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range c.Pending() {
		switch {
		case e.Kind == engine.EffectShow:
		case e.Kind != engine.EffectFile || !filepath.IsAbs(e.Target): // a user, for instance, gets a home directory
			p.opaque = true
		default:
			if p.paths == nil {
				p.paths = map[string]string{}
			}
			p.paths[e.Target] = e.Action
		}
	}
}

// clear drops the results of earlier checks of the session.
func (p *dryRunState) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paths, p.opaque = nil, false
}

// wouldChange reports whether the path, or something below it, would change.
func (p *dryRunState) wouldChange(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, there := p.paths[path]; there {
		return true
	}
	for changed := range p.paths {
		if isBelow(changed, path) {
			return true
		}
	}
	return false
}

// mayMake reports whether a directory may exist after the changes so far: something
// in it would be created, or something other than an empty directory above it. real
// resolves the links in a path.
func (p *dryRunState) mayMake(dir string, real func(path string) string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.opaque {
		return true
	}
	dir = real(dir)
	for path, action := range p.paths {
		path = real(path)
		if path == dir || isBelow(path, dir) || action != engine.CreateDirectory && isBelow(dir, path) {
			return true
		}
	}
	return false
}

func isBelow(path, dir string) bool { return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") }

var _ engine.DryRunView = (*system)(nil)

// CheckOnly implements engine.DryRunView.
func (s *system) CheckOnly() bool { return s.step.check }

// WouldChange implements engine.DryRunView.
func (s *system) WouldChange(path string) bool {
	return s.step.check && s.step.server.dryRun.wouldChange(path)
}

// WouldCreate implements engine.DryRunView.
func (s *system) WouldCreate(dir string) bool {
	return s.step.check && s.step.server.dryRun.mayMake(dir, s.real)
}

// real returns a path of the host with the links in its existing part resolved.
func (s *system) real(path string) string {
	missing := ""
	for dir := s.Path(path); ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, missing)
		}
		if dir == filepath.Dir(dir) {
			return s.Path(path)
		}
		if to, err := os.Readlink(dir); err == nil { // a link whose target does not exist yet
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(dir), to)
			}
			return filepath.Join(to, missing)
		}
		missing = filepath.Join(filepath.Base(dir), missing)
	}
}

// forDisplay returns a change in the form that plans have: sanitized, and without
// the contents of secret steps. Fingerprints are computed of this form.
func (r *stepRun) forDisplay(c engine.Change) engine.Change {
	shown := c.Effects
	if r.step.Secret {
		shown = engine.WithheldEffects(shown, r.step.Module)
	}
	c.Effects, _ = fitEffects(shown)
	for i := range c.Effects {
		e := &c.Effects[i]
		e.Target, e.Action, e.Reason, e.Diff = sanitize.Text(e.Target), sanitize.Text(e.Action), sanitize.Text(e.Reason), sanitize.Text(e.Diff)
	}
	return c
}
