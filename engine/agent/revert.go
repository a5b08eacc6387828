package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"deployer/engine"
)

// reverting is the module that puts back what a run has kept. What it replaces
// it keeps itself, so that a revert can be reverted.
type reverting struct {
	engine.Revert
	step *stepRun
	past *past
}

var _ engine.Module = (*reverting)(nil)

// past is a run that is looked back at.
type past struct {
	run, dir string
	known    bool
	changes  []*changed // by step
	whole    []*changed // by the run
	ran      []string
	bare     []string
}

// has tells whether the run has changed a thing.
func (p *past) has(kind, name string) bool {
	return slices.ContainsFunc(p.whole, func(c *changed) bool { return c.thing == thing{kind, name} })
}

// Check finds what is to be put back. What somebody has changed since is an
// error, unless it is only looked, or forced.
func (v *reverting) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if v.SameRun != (v.Run == v.step.run) {
		return engine.Change{}, errors.New("a run puts back only what a rollout of its own has changed")
	}
	var err error
	if v.past, err = v.step.server.state.past(v.Run, v.SameRun); err != nil {
		return engine.Change{}, err
	}
	verdicts, err := v.verdicts(ctx, sys)
	if err != nil {
		return engine.Change{}, err
	}
	var change engine.Change
	for _, d := range verdicts {
		if d.fate == engine.PutBack {
			change.Effects = append(change.Effects, d.effect)
		}
	}
	if v.Look {
		change.Needed = len(change.Effects) > 0
		change.Output, err = v.output(verdicts)
		return change, err
	}
	if err := v.refuse(verdicts); err != nil {
		return engine.Change{}, err
	}
	again := ""
	if !v.SameRun {
		again = v.step.server.state.unfinished(func(step string) bool { return step == v.ID() }, v.Run, v.step.run)
	}
	if again != "" && len(change.Effects) == 0 {
		change.Effects = append(change.Effects, engine.Effect{Kind: engine.EffectFile, Target: v.Task,
			Action: "was put back by run " + again + ", which did not come to its end"})
	}
	change.Needed = len(change.Effects) > 0
	return change, nil
}

// refuse is the error for what somebody has changed since the run.
func (v *reverting) refuse(verdicts []*verdict) error {
	var names []string
	for _, d := range verdicts {
		if d.fate == engine.Drifted {
			names = append(names, d.name)
		}
	}
	switch {
	case len(names) == 0:
		return nil
	case v.SameRun:
		return fmt.Errorf("somebody has changed %s while the run was at work", strings.Join(names, ", "))
	}
	return fmt.Errorf("somebody has changed %s since run %s; say --force to put it back all the same", strings.Join(names, ", "), v.Run)
}

// changes are those that this step is for, in the order in which they are put
// back: the last first, and then, the first first, what must wait until files
// are back.
func (v *reverting) changes() []*changed {
	all := v.past.changes
	if v.Look {
		all = v.past.whole
	}
	var early, late []*changed
	for _, c := range slices.Backward(all) {
		switch {
		case v.Task != "" && !ofTask(c.steps[0], v.Task):
		case v.late(c):
			late = append([]*changed{c}, late...)
		default:
			early = append(early, c)
		}
	}
	switch {
	case v.Task == "":
		return append(early, late...)
	case v.Late:
		return late
	}
	return early
}

func (v *reverting) late(c *changed) bool {
	r := v.step.server.registry[c.kind].Restorer
	return r != nil && r.Late != nil && r.Late(c.was.State)
}

// started tells whether the run has brought something to life that did not run
// before.
func (v *reverting) started(c *changed) bool {
	r := v.step.server.registry[c.kind].Restorer
	return r != nil && r.Stopped != nil && r.Stopped(c.was.State) && (c.left == nil || !r.Stopped(c.left.State))
}

func (v *reverting) verdicts(ctx context.Context, sys engine.System) ([]*verdict, error) {
	var out []*verdict
	for _, c := range v.changes() {
		d, err := v.judge(ctx, sys, c)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	staying(sys, out)
	return out, nil
}

// staying finds the directories that will not be empty when it is their turn.
func staying(sys engine.System, verdicts []*verdict) {
	gone := map[string]bool{}
	for _, d := range verdicts {
		if d.kind != kindFile || d.was.File != nil || d.fate != engine.PutBack {
			continue
		}
		gone[d.name] = true
		info, err := os.Lstat(sys.Path(d.name))
		if err != nil || !info.IsDir() {
			continue // a link to a directory is no directory
		}
		entries, err := os.ReadDir(sys.Path(d.name))
		if err != nil {
			continue // putting it back says why
		}
		for _, e := range entries {
			if path := filepath.Join(d.name, e.Name()); !gone[path] {
				d.fate, d.why = engine.Lost, "there is something in it: "+e.Name()
				delete(gone, d.name)
			}
		}
	}
}

// output is the engine.Past of what was found.
func (v *reverting) output(verdicts []*verdict) (engine.Output, error) {
	ours := func(step string) bool { return strings.HasPrefix(step, engine.Revert{Run: v.Run}.ID()) }
	found := engine.Past{Known: v.past.known, Ran: v.past.ran, Bare: v.past.bare, Unfinished: v.step.server.state.unfinished(ours, v.Run, v.step.run)}
	for _, d := range verdicts {
		p := engine.PastItem{Steps: d.steps, Kind: d.kind, Name: d.name, Effect: v.kindOf(d), Fate: d.fate, Why: d.why, Late: v.late(d.changed),
			Made: d.was.Lost == "" && d.was.File == nil && len(d.was.State) == 0, Started: v.started(d.changed)}
		if d.fate == engine.Drifted {
			p.Run = v.step.server.state.changedLater(d.thing, v.Run)
		}
		found.Items = append(found.Items, p)
	}
	raw, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	var out engine.Output
	return out, json.Unmarshal(raw, &out)
}

// kindOf is how a plan counts a thing that is put back.
func (v *reverting) kindOf(d *verdict) engine.EffectKind {
	if r := v.step.server.registry[d.kind].Restorer; r != nil && d.kind != kindFile {
		return r.Effect
	}
	return engine.EffectFile
}

// Apply puts back. Each thing is looked at once more when it is its turn: what
// several steps have changed goes back over the same ways. What can never be put
// back is told, and does not stop the rest.
func (v *reverting) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	stays := []any{}
	if v.Look {
		return nil, nil
	}
	for _, c := range v.changes() {
		d, err := v.judge(ctx, sys, c)
		if err == nil {
			err = v.refuse([]*verdict{d})
		}
		if err == nil && d.fate == engine.PutBack {
			err = v.putBack(ctx, sys, d)
		}
		var stay *engine.Stays
		if errors.As(err, &stay) {
			stays = append(stays, map[string]any{"kind": d.kind, "name": d.name, "why": stay.Why})
		} else if err != nil {
			return nil, fmt.Errorf("putting back %s %s: %w", c.kind, c.name, err)
		}
	}
	return engine.Output{"stays": stays}, nil
}

func (v *reverting) putBack(ctx context.Context, sys engine.System, d *verdict) error {
	if d.kind == kindFile {
		if err := errors.Join(sys.Keep(d.name), v.reread(sys, d.name)); err != nil {
			return err
		}
		return putBack(sys.Path("/"), d.name, d.was.File, v.data(d.was))
	}
	if err := sys.KeepState(d.kind, d.name, d.now); err != nil {
		return err
	}
	return v.step.server.registry[d.kind].Restorer.Restore(ctx, sys, d.name, d.now, d.to)
}

// reread postpones what has to be done after a file is put back.
func (v *reverting) reread(sys engine.System, path string) error {
	for name, kind := range v.step.server.registry {
		later, ok := sys.(engine.Postponer)
		if !ok || kind.Restorer == nil || kind.Restorer.Rereads == nil || !kind.Restorer.Rereads(path) {
			continue
		}
		if err := later.Postpone(name); err != nil {
			return err
		}
	}
	return nil
}

// past reads what a run has left behind on this host. Being looked back at
// makes a run young again, so that it is not forgotten before it is reverted. A run
// that still goes on is read afresh each time.
func (s *state) past(run string, goesOn bool) (*past, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pasts[run]; p != nil && !goesOn {
		return p, nil
	}
	dir, err := s.runDir(run)
	if err != nil {
		return nil, err
	}
	if !goesOn {
		if err := s.knownFormats(); err != nil {
			return nil, err
		}
	}
	p := &past{run: run, dir: dir}
	lines, err := readKept(dir)
	if err != nil {
		return nil, err
	}
	entries, err := s.entries(run)
	if err != nil {
		return nil, err
	}
	p.known, p.changes = len(entries) > 0 || len(lines) > 0, changesOf(lines)
	p.whole = wholeOf(p.changes)
	if p.known {
		now := time.Now()
		_ = os.Chtimes(dir, now, now)
	}
	kept := map[string]bool{}
	for _, l := range lines {
		kept[l.Step] = true
	}
	for _, e := range entries {
		if !slices.Contains(p.ran, e.Step) {
			p.ran = append(p.ran, e.Step)
		}
		if e.Begun && !kept[e.Step] && !slices.Contains(p.bare, e.Step) {
			p.bare = append(p.bare, e.Step)
		}
	}
	if !goesOn {
		s.pasts[run] = p
	}
	return p, nil
}
