package playbook

import (
	"encoding/json"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/strictyaml"
)

// finish computes what tasks and blocks look at, once all is compiled.
func (c *compiler) finish() {
	for _, t := range c.allTasks() {
		t.collectRefs()
	}
	c.defined = c.firstDefiners()
	c.prog.Definers = c.defined
	c.rejectAnsibleNamesInTexts()
	for _, op := range c.prog.Ops {
		b := op.Block
		if op.Kind == OpEndHost {
			b = op.Ends
		}
		if op.Kind == OpBlock || op.Kind == OpEndHost {
			var parts []Refs
			for _, e := range b.When {
				parts = append(parts, e.refs)
			}
			if b.Throttle != nil {
				parts = append(parts, b.Throttle.refs)
			}
			if b.Rollout != nil {
				for _, e := range b.Rollout.exprs() {
					parts = append(parts, e.refs)
				}
			}
			b.refs = closure(b.Scopes, parts...)
		}
	}
}

// collectRefs computes what the task looks at.
func (t *Task) collectRefs() {
	parts := []Refs{}
	for _, e := range t.When {
		parts = append(parts, e.refs)
	}
	t.whenRefs = closure(t.Scopes, parts...)
	if t.Loop != nil {
		parts = append(parts, t.Loop.refs)
		if t.Loop.label != nil {
			parts = append(parts, t.Loop.label.refs)
		}
	}
	for _, label := range t.labels {
		parts = append(parts, label.refs)
	}
	if t.Throttle != nil {
		parts = append(parts, t.Throttle.refs)
	}
	if t.Args != nil {
		parts = append(parts, t.Args.refs)
	}
	if t.Delegate != nil {
		parts = append(parts, t.Delegate.refs)
	}
	if t.user != nil {
		parts = append(parts, t.user.refs)
	}
	for _, env := range t.env {
		parts = append(parts, env.refs)
	}
	if t.nameText != nil {
		parts = append(parts, t.nameText.refs)
	}
	t.refs = closure(t.Scopes, parts...)
	var after []Refs
	for _, e := range slices.Concat(t.ChangedWhen, t.FailedWhen, t.Until) {
		after = append(after, e.refs)
	}
	t.afterRef = closure(t.Scopes, after...)
}

func (c *compiler) allTasks() []*Task {
	all := slices.Clone(c.prog.Tasks)
	for _, p := range c.prog.Plays {
		all = append(all, p.Handlers...)
	}
	return all
}

// closure adds what the variables of the scopes refer to in turn.
func closure(scopes []*Scope, parts ...Refs) Refs {
	var out Refs
	out.merge(parts...)
	todo := out.Names()
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		for _, s := range scopes {
			value := s.vars[name]
			if value == nil {
				continue
			}
			out.all = out.all || value.refs.all
			for n := range value.refs.tested {
				out.test(n)
			}
			for _, r := range value.refs.Names() {
				if _, known := out.names[r]; !known {
					out.add(r)
					todo = append(todo, r)
				}
			}
		}
	}
	return out
}

// Applies evaluates the task's conditions; reason is the one that does not hold.
func (t *Task) Applies(vars *Vars) (ok bool, reason string, err error) {
	return conditionsHold(t.When, t.Scopes, t.refs, vars)
}

// Applies evaluates the block's conditions; reason is the one that does not hold.
func (b *Block) Applies(vars *Vars) (ok bool, reason string, err error) {
	return conditionsHold(b.When, b.Scopes, b.refs, vars)
}

func conditionsHold(when []*Expr, scopes []*Scope, refs Refs, vars *Vars) (bool, string, error) {
	if len(when) == 0 {
		return true, "", nil
	}
	defer vars.PopTo(vars.Depth())
	var needed Refs
	for _, e := range when {
		needed.merge(e.refs)
	}
	if err := vars.PushScope(scopes, needed); err != nil {
		return false, "", err
	}
	ok, failed, err := firstFalse(when, vars.values)
	if err != nil || ok {
		return ok, "", err
	}
	return false, failed.Src, nil
}

// WhenPerItem tells whether the conditions look at the item of the loop, so
// that they are evaluated for each item.
func (t *Task) WhenPerItem() bool {
	return t.Loop != nil && slices.ContainsFunc(t.When, func(e *Expr) bool { return t.Loop.perItem(e.refs) })
}

// Items returns the items of the task's loop; the task must have one.
func (t *Task) Items(vars *Vars) ([]any, error) {
	defer vars.PopTo(vars.Depth())
	if err := vars.PushScope(t.Scopes, t.Loop.refs); err != nil {
		return nil, err
	}
	return t.Loop.Items(vars.values)
}

// ThrottleLimit evaluates a throttle in the given scopes; 0 means no limit.
func ThrottleLimit(e *Expr, scopes []*Scope, vars *Vars) (int, error) {
	defer vars.PopTo(vars.Depth())
	err := vars.PushScope(scopes, e.refs)
	n := 0
	if err == nil {
		n, err = e.Int(vars.values)
	}
	if err != nil && e.fallback != nil {
		return *e.fallback, nil
	}
	if err == nil && n < 0 {
		return 0, e.Pos.Errorf("throttle %q gives %d; want a number of hosts, or 0 for no limit", e.Src, n)
	}
	return n, err
}

// BuildArgs renders and decodes the arguments into a new value of the task's kind;
// nil for a gate at which there is nothing to wait for. The caller has entered
// the task's scopes and set the item.
func (t *Task) BuildArgs(vars *Vars) (any, error) {
	node, err := t.Args.Render(vars.values)
	if err != nil {
		return nil, err
	}
	into := t.Kind.New()
	if err := strictyaml.Decode(t.Args.doc.name, node, into); err != nil {
		return nil, err
	}
	if t.gate {
		return into.(engine.ReadinessGate).Gate(), nil
	}
	return into, nil
}

// Fixed is the JSON of the arguments of a module that are the same on all
// hosts; nil for other tasks. It must not be changed.
func (t *Task) Fixed() json.RawMessage { return t.fixed }

// Title is the task's name rendered; of a loop with the label of the item. A task
// that stands for another one has the name as written where it cannot be rendered.
func (t *Task) Title(vars *Vars) (title string, err error) {
	title = t.Name
	if t.nameText != nil {
		title, err = t.nameText.Text(vars.values)
	}
	switch {
	case err != nil && t.replaces:
		return t.Prefix + t.Name, nil
	case err != nil:
		return "", err
	}
	labels := t.labels
	if t.Loop != nil && t.Loop.label != nil {
		labels = append(slices.Clip(labels), t.Loop.label)
	}
	for _, l := range labels {
		label, err := l.Value(vars)
		if err != nil {
			return "", err
		}
		title += " (" + label + ")"
	}
	return t.Prefix + title, nil
}

// MayHaveTitle tells whether a title may be one that Title has given: names with
// templates may have any.
func (t *Task) MayHaveTitle(title string) bool {
	rest, same := strings.CutPrefix(title, t.Name)
	labelled := len(t.labels) > 0 || t.Loop != nil && t.Loop.label != nil
	return isTemplate(t.Name) || same && (rest == "" || labelled && strings.HasPrefix(rest, " ("))
}

// Closure adds to refs what the task's variables refer to in turn.
func (t *Task) Closure(refs Refs) Refs { return closure(t.Scopes, refs) }

// Holds evaluates conditions on the task's result, which the caller has put
// into vars.
func (t *Task) Holds(conditions []*Expr, vars *Vars) (bool, error) {
	if err := vars.PushScope(t.Scopes, t.afterRef); err != nil {
		return false, err
	}
	ok, _, err := firstFalse(conditions, vars.values)
	return ok, err
}

// Sources are conditions as they are written.
func Sources(conditions []*Expr) string {
	var out []string
	for _, c := range conditions {
		out = append(out, c.Src)
	}
	return strings.Join(out, " and ")
}
