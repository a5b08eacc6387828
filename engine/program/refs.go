package program

import (
	"slices"

	"deployer/engine/lang"
)

// Refs returns the variables that must be known before the task can be rendered, including
// those that the variables of its scopes read.
func (t *Task) Refs() lang.Refs { return t.refs }

// WhenRefs returns the variables of Refs that the conditions of the task read.
func (t *Task) WhenRefs() lang.Refs { return t.whenRefs }

// AfterRefs returns the variables that are read when the task has a result.
func (t *Task) AfterRefs() lang.Refs { return t.afterRefs }

// Refs returns the variables that the condition, the throttle and the rollout of the block
// read.
func (b *Block) Refs() lang.Refs { return b.refs }

// CollectRefs computes Refs, WhenRefs and AfterRefs.
func (t *Task) CollectRefs() {
	parts := []lang.Refs{}
	for _, e := range t.When {
		parts = append(parts, e.Refs())
	}
	t.whenRefs = lang.Closure(t.Scopes, parts...)
	if t.Loop != nil {
		parts = append(parts, t.Loop.Refs)
		if t.Loop.Label != nil {
			parts = append(parts, t.Loop.Label.Refs())
		}
	}
	for _, label := range t.LoopLabels {
		parts = append(parts, label.Refs())
	}
	if t.Throttle != nil {
		parts = append(parts, t.Throttle.Refs())
	}
	if t.Args != nil {
		parts = append(parts, t.Args.Refs())
	}
	if t.Delegate != nil {
		parts = append(parts, t.Delegate.Refs())
	}
	if t.RunAs != nil {
		parts = append(parts, t.RunAs.Refs())
	}
	for _, env := range t.Environment {
		parts = append(parts, env.Refs())
	}
	if t.NameText != nil {
		parts = append(parts, t.NameText.Refs())
	}
	t.refs = lang.Closure(t.Scopes, parts...)
	var after []lang.Refs
	for _, e := range slices.Concat(t.ChangedWhen, t.FailedWhen, t.Until) {
		after = append(after, e.Refs())
	}
	t.afterRefs = lang.Closure(t.Scopes, after...)
}

// Closure adds to refs the variables that the task's variables read in turn.
func (t *Task) Closure(refs lang.Refs) lang.Refs { return lang.Closure(t.Scopes, refs) }

// CollectRefs computes Refs.
func (b *Block) CollectRefs() {
	var parts []lang.Refs
	for _, e := range b.When {
		parts = append(parts, e.Refs())
	}
	if b.Throttle != nil {
		parts = append(parts, b.Throttle.Refs())
	}
	if b.Rollout != nil {
		for _, e := range b.Rollout.Exprs() {
			parts = append(parts, e.Refs())
		}
	}
	b.refs = lang.Closure(b.Scopes, parts...)
}
