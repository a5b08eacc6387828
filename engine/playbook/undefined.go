package playbook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// undefined finds variables that no host has which looks at them, before any is
// contacted. It reports what would be an error in any case: the task has no
// condition, nor has what it stands in, and its failure would be one. A name that
// a task registers or sets, or that is tested anywhere, is taken to be there.
func (c *compiler) undefined() {
	if c.lib.Vars == nil || c.lib.Match == nil || c.lib.Run == nil || len(c.errs) > 0 {
		return // what is wrong may stand where a name gets its value
	}
	u := &undefinedNames{compiler: c, vars: map[string]map[string]any{}, lack: map[string][]string{}, tested: map[string]bool{}}
	for _, t := range c.allTasks() {
		for _, refs := range []Refs{t.refs, t.whenRefs, t.afterRef} {
			for name := range refs.tested {
				u.tested[name] = true
			}
		}
	}
	for _, op := range c.prog.Ops {
		for _, b := range []*Block{op.Block, op.Ends} {
			if b == nil {
				continue
			}
			for name := range b.refs.tested {
				u.tested[name] = true
			}
		}
	}
	left := map[*Play]bool{}
	for i, op := range c.prog.Ops {
		switch {
		case op.Kind == OpEndHost:
			left[op.Play] = true // who comes further is not known
		case left[op.Play]:
		case op.Kind == OpBlock:
			u.block(op.Block, i)
		case op.Kind == OpTask:
			u.task(op.Task, i)
		}
	}
}

type undefinedNames struct {
	*compiler
	vars   map[string]map[string]any // by host
	hosts  map[*Play][]string
	lack   map[string][]string // hosts of the run, by variable
	tested map[string]bool
}

// hostsAt are the hosts of the run that come to an operation in any case.
func (u *undefinedNames) hostsAt(p *Play, b *Block, op int) []string {
	if u.hosts == nil {
		u.hosts = map[*Play][]string{}
	}
	hosts, known := u.hosts[p]
	if !known {
		all, _ := u.lib.Match(p.Hosts) // an error was said already
		for _, host := range all {
			if slices.Contains(u.lib.Run, host) {
				hosts = append(hosts, host)
			}
		}
		u.hosts[p] = hosts
	}
	for ; b != nil; b = b.Parent {
		if len(b.When) > 0 || b.Rescue > 0 && (b.Always == 0 || op < b.Always) {
			return nil
		}
		if b.Only != nil {
			hosts = slices.DeleteFunc(slices.Clone(hosts), func(h string) bool { return !b.Only[h] })
		}
	}
	return hosts
}

func (u *undefinedNames) block(b *Block, op int) {
	s := &sights{u: u, scopes: b.Scopes, hosts: u.hostsAt(u.prog.Ops[op].Play, b.Parent, op)}
	if b.Only != nil || len(s.hosts) == 0 {
		return
	}
	s.conditions(b.When)
	if b.Throttle != nil && len(b.When) == 0 {
		s.look(b.Throttle.refs, b.Throttle.sure)
	}
	s.report(false)
}

func (u *undefinedNames) task(t *Task, op int) {
	s := &sights{u: u, scopes: t.Scopes, hosts: u.hostsAt(t.Play, t.Block, op), loop: t.Loop}
	if t.IgnoreErrors || len(s.hosts) == 0 {
		return
	}
	if !t.WhenPerItem() {
		s.conditions(t.When)
	}
	if len(t.When) == 0 {
		s.body(t)
	}
	s.report(t.RunOnce)
}

// sights are what something looks at in any case, on the hosts that come there.
type sights struct {
	u      *undefinedNames
	scopes []*Scope
	hosts  []string
	loop   *Loop
	seen   map[string]bool // variables whose values were looked into
	found  []sight
}

// conditions: only the first is looked at in any case, with what the variables of
// all refer to.
func (s *sights) conditions(when []*Expr) {
	for i, e := range when {
		if i == 0 {
			s.look(e.refs, e.sure)
		} else {
			s.look(e.refs, nil)
		}
	}
}

func (s *sights) body(t *Task) {
	if t.Throttle != nil {
		s.look(t.Throttle.refs, t.Throttle.sure)
	}
	if t.Loop != nil {
		if t.Loop.expr != nil {
			s.look(t.Loop.refs, t.Loop.expr.sure)
			return // maybe there is no item
		}
		s.look(t.Loop.refs, t.Loop.list.sure())
		if len(t.Loop.list.list) == 0 {
			return
		}
	}
	s.look(t.refs, nil)
	for _, text := range []*Text{t.Delegate, t.user} {
		if text != nil && text.tpl != nil {
			s.look(text.refs, text.tpl.sure)
		}
	}
	for _, v := range t.env {
		s.look(v.refs, v.sure())
	}
	if t.nameTpl != nil {
		s.look(t.nameTpl.refs, t.nameTpl.sure)
	}
	if t.Args != nil {
		s.look(t.Args.refs, t.Args.root.sure())
	}
}

// look notes what is looked at, in the values of variables too: all that may be
// looked at are computed beforehand.
func (s *sights) look(refs Refs, sure []sight) {
	s.found = append(s.found, sure...)
	for _, name := range refs.Names() {
		if s.seen[name] || s.given(name) {
			continue
		}
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[name] = true
		if value := s.value(name); value != nil {
			s.look(value.refs, value.sure())
		}
	}
}

// given tells whether a name has a value that may not be what layers say.
func (s *sights) given(name string) bool {
	_, extra := s.u.lib.Extra[name]
	_, set := s.u.defined[name]
	return extra || set || s.u.tested[name] || slices.Contains(s.u.lib.Given, name) || s.u.asked(name) ||
		s.loop != nil && (name == s.loop.Var || name == s.loop.index)
}

// value is that of a layer, if no host of the inventory has one in its place.
func (s *sights) value(name string) *Value {
	for _, scope := range slices.Backward(s.scopes) {
		value := scope.vars[name]
		if value == nil || scope.Default && len(s.u.without(name)) < len(s.u.lib.Run) {
			continue
		}
		return value
	}
	return nil
}

func (s *sights) layered(name string) bool {
	return slices.ContainsFunc(s.scopes, func(scope *Scope) bool { return scope.vars[name] != nil })
}

// has tells whether a host has a variable before the run, or gets it from the
// engine.
func (u *undefinedNames) has(host, name string) bool {
	switch name {
	case "facts", "run", "result", "failure":
		return true
	}
	vars, known := u.vars[host]
	if !known {
		vars = u.lib.Vars(host)
		u.vars[host] = vars
	}
	_, ok := vars[name]
	return ok
}

// without are the hosts of the run that do not have a variable before it.
func (u *undefinedNames) without(name string) []string {
	out, known := u.lack[name]
	if !known {
		out = slices.DeleteFunc(slices.Clone(u.lib.Run), func(host string) bool { return u.has(host, name) })
		u.lack[name] = out
	}
	return out
}

// report says which of the variables are missing. once: one host does it for all,
// and it may be any.
func (s *sights) report(once bool) {
	for _, look := range s.found {
		if s.given(look.name) || s.layered(look.name) {
			continue
		}
		without := s.u.without(look.name)
		if len(without) > 0 {
			without = slices.DeleteFunc(slices.Clone(without), func(host string) bool { return !slices.Contains(s.hosts, host) })
		}
		if len(without) == 0 || once && len(without) < len(s.hosts) {
			continue
		}
		where := ""
		if len(without) < len(s.hosts) {
			where = " on " + some(without)
		}
		s.u.fail(look.pos.Errorf("%s: unknown name %q%s%s", look.what, look.name, where, hint(look.name, s.known(without[0]))))
	}
}

// known are the names that a host has there, for advice.
func (s *sights) known(host string) map[string]any {
	out := maps.Clone(s.u.vars[host])
	for _, scope := range s.scopes {
		for _, name := range scope.names {
			out[name] = nil
		}
	}
	for name := range s.u.defined {
		out[name] = nil
	}
	return out
}

// some names hosts, the first of many.
func some(hosts []string) string {
	if len(hosts) <= 3 {
		return strings.Join(hosts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(hosts[:3], ", "), len(hosts)-3)
}

// sure gathers what a value looks at in any case.
func (v *Value) sure() []sight {
	if v.tpl != nil {
		return v.tpl.sure
	}
	var out []sight
	for _, c := range v.list {
		out = append(out, c.sure()...)
	}
	return out
}

// sure gathers what arguments look at in any case; of conditions the first.
func (n *argNode) sure() []sight {
	if n.tpl != nil {
		return n.tpl.sure
	}
	if len(n.exprs) > 0 {
		return n.exprs[0].sure
	}
	var out []sight
	for _, c := range n.children {
		out = append(out, c.sure()...)
	}
	return out
}
