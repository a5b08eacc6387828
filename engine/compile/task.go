package compile

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/engine"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/engine/protocol/codec"
	"deployer/engine/taskargs"
	"deployer/strictyaml"
)

// Defaults of a task with `until`.
const (
	untilRetries = 3
	untilDelay   = 5 * time.Second
)

func (c *compiler) moduleItem(x taskContext, raw *rawTask) {
	d := x.doc
	t := c.task(x, raw)
	x.state.tasks++
	t.ID = fmt.Sprintf("%d.%s.%d", x.play.Index+1, roleOr(x.role, "play"), x.state.tasks)
	selected := c.atOrAfterStart(t) && c.selected(t.Tags)
	if raw.Barrier && selected {
		c.barrier(x, d.At(raw.set["barrier"]))
	}
	c.need(x, d, &raw.Needs, &t.Needs)
	if !selected {
		return
	}
	c.lockstep(x)
	c.emit(program.Op{Kind: program.OpTask, Play: x.play, Task: t, Block: x.block})
	c.prog.Tasks = append(c.prog.Tasks, t)
	if raw.Label != "" {
		c.label(x, raw.Label, d.At(raw.set["label"]))
	}
}

// task compiles what tasks and handlers have in common.
func (c *compiler) task(x taskContext, raw *rawTask) *program.Task {
	d := x.doc
	own := c.inheritedOf(d, raw.node, &raw.rawInherit)
	effective := own.over(x.inherited)
	t := &program.Task{
		Name: raw.Name, Role: x.role, Pos: d.At(raw.node), Play: x.play, Kind: c.lib.Registry[raw.module.Value],
		When: c.conditions(d, &raw.When, "when"), Register: raw.Register,
		ChangedWhen: c.conditions(d, &raw.ChangedWhen, "changed_when"),
		FailedWhen:  c.conditions(d, &raw.FailedWhen, "failed_when"),
		Until:       c.conditions(d, &raw.Until, "until"), IgnoreErrors: value(effective.ignoreErrors),
		Delay: raw.Delay, Timeout: c.timeLimit(effective.timeout, raw), Delegate: effective.delegate, Throttle: c.throttle(d, &raw.Throttle), RunOnce: raw.RunOnce,
		Secret: raw.Secret, Tags: slices.Concat(x.tags, c.tags(d, &raw.Tags)), Block: x.block, Files: x.files,
		Scopes: x.with(c.compileScope(d, &raw.Vars, lang.TaskVars)).scopes,
	}
	t.Loop, t.LoopLabels = c.loopOf(x, raw), x.labels
	if t.Loop == nil && raw.Loop.Kind != 0 {
		t.When = append([]*lang.Expr{unknownCondition(t.Pos)}, t.When...)
	}
	c.taskRetries(t, raw)
	c.taskName(d, t, raw)
	c.taskArgs(d, t, raw)
	c.taskPlace(t, own)
	c.runAs(t, own, effective)
	t.Environment = effective.env
	if slices.Contains(lang.Reserved(), t.Register) {
		c.fail(d.At(raw.set["register"]).Errorf("the name %q belongs to the engine; choose another one", t.Register))
	}
	for _, n := range c.texts(d, &raw.Notify, "notify") {
		x.state.notifies = append(x.state.notifies, pendingNotify{from: t, name: n.Value, role: x.role, pos: d.At(n)})
	}
	return t
}

func roleOr(role, other string) string {
	if role == "" {
		return other
	}
	return role
}

func (c *compiler) taskRetries(t *program.Task, raw *rawTask) {
	switch {
	case raw.Retries != nil:
		t.Retries = *raw.Retries
	case t.Until != nil:
		t.Retries = untilRetries
	}
	if t.Until != nil && raw.set["delay"] == nil {
		t.Delay = untilDelay
	}
	if t.Retries < 0 || t.Delay < 0 {
		c.fail(t.Pos.Errorf("retries and delay cannot be negative"))
	}
}

func (c *compiler) taskName(d *lang.Document, t *program.Task, raw *rawTask) {
	if t.Name == "" {
		t.Name = t.Kind.Name
	}
	if !lang.IsTemplate(t.Name) {
		return
	}
	text, err := lang.CompileInterpolation(t.Name, d.Origin(lang.MappingValue(raw.node, "name")))
	if err != nil {
		c.fail(err)
		return
	}
	t.NameText = text
}

// taskPlace rejects a delegate of an action, and drops an inherited one: actions run on the
// controller.
func (c *compiler) taskPlace(t *program.Task, own inherited) {
	if t.Mode != program.OnController {
		return
	}
	if own.delegate != nil {
		c.fail(own.delegate.Pos.Errorf("%s runs on the machine that deployer runs on, for the host; leave delegate_to out", t.Kind.Name))
	}
	t.Delegate = nil
}

// taskArgs compiles the arguments and decodes them when they are the same on all hosts.
func (c *compiler) taskArgs(d *lang.Document, t *program.Task, raw *rawTask) {
	into := t.Kind.New()
	switch into.(type) {
	case engine.Preparer:
		t.Mode = program.Prepared
	case engine.Action:
		t.Mode = program.OnController
	}
	if err := taskargs.RejectKeyValue(d, raw.args, reflect.TypeOf(into)); err != nil {
		c.fail(err)
		c.lost(raw.args)
		return
	}
	raw.args = taskargs.LongForm(raw.args, reflect.TypeOf(into))
	c.collectSets(d, t, raw.args)
	args, errs := taskargs.Compile(d, raw.args, reflect.TypeOf(into))
	t.Args = args
	for _, err := range errs {
		c.fail(err)
		c.doubts.Args[t] = true
	}
	if err := strictyaml.CheckKeys(d.Name, raw.args, into); err != nil {
		c.fail(err)
		c.doubts.Args[t] = true
		return
	}
	if args.Templated() {
		t.InspectArgs(into)
		return
	}
	if err := strictyaml.Decode(d.Name, raw.args, into); err != nil {
		c.fail(err)
		return
	}
	if err := engine.Validate(into); err != nil {
		c.fail(d.At(raw.args).Errorf("%s: %v", t.Kind.Name, err))
		return
	}
	t.InspectArgs(into)
	if t.Mode == program.OnHost {
		data, err := codec.Args(into, t.Kind.New())
		if err != nil {
			c.fail(t.Pos.Errorf("arguments of %s: %v", t.Kind.Name, err))
			return
		}
		t.FixedArgs = data
	}
}

func (c *compiler) throttle(d *lang.Document, n *yaml.Node) *lang.Expr {
	if n.Kind == 0 || n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.ScalarNode {
		c.fail(d.At(n).Errorf("throttle: want a number or an expression"))
		return nil
	}
	e, err := lang.CompileExpr(n.Value, d.Origin(n))
	c.fail(err)
	return e
}
