package plan

import (
	"strings"

	"deployer/engine"
)

// markStaleness sets Inexact and UnboundedFrom.
func (h *Host) markStaleness(changes []Change) {
	for i, at := range h.Changes {
		change := changes[at]
		if change.Unknown == "" {
			if cause := h.firstCause(changes, i); cause >= 0 {
				if h.Inexact == nil {
					h.Inexact = map[int]int{}
				}
				h.Inexact[at] = h.Changes[cause]
			}
		}
		if h.UnboundedFrom == nil && change.isUnbounded() {
			h.UnboundedFrom = &at
		}
	}
}

// firstCause returns the index of the first change before the i-th that may affect
// what the i-th checks; -1 when there is none.
func (h *Host) firstCause(changes []Change, i int) int {
	for j, at := range h.Changes[:i] {
		if changes[at].isUnbounded() || overlaps(changes[at].Effects, changes[h.Changes[i]].Effects) {
			return j
		}
	}
	return -1
}

// isUnbounded reports whether the change may have effects that the plan does not
// list: files of a package, anything that a command does, files that a starting unit
// creates.
func (c Change) isUnbounded() bool {
	if c.Unknown != "" {
		return true
	}
	for _, e := range c.Effects {
		switch e.Kind {
		case engine.EffectFile, engine.EffectKernel, engine.EffectRestart, engine.EffectDrain:
		default:
			return true
		}
	}
	return false
}

// overlaps reports whether the effects in a may affect the targets in b: the same
// target, or one above or below it.
func overlaps(a, b []engine.Effect) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Target == y.Target || isBelow(x.Target, y.Target) || affectsContents(x) && isBelow(y.Target, x.Target) || belongsToUnit(x, y) {
				return true
			}
		}
	}
	return false
}

// affectsContents reports whether an effect may change what is below its target. A
// new directory is as empty as a missing one.
func affectsContents(e engine.Effect) bool { return !strings.HasPrefix(e.Action, "create") }

// belongsToUnit reports whether a file belongs to a unit, as its unit file or a
// drop-in.
func belongsToUnit(file, unit engine.Effect) bool {
	acts := unit.Kind == engine.EffectUnit || unit.Kind == engine.EffectRestart
	return acts && file.Kind == engine.EffectFile && strings.Contains(file.Target, "/"+unit.Target)
}

func isBelow(path, dir string) bool {
	return strings.HasPrefix(dir, "/") && strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
