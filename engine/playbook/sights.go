package playbook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sights are what something looks at in any case, on the hosts that come there.
type sights struct {
	u      *undefinedNames
	scopes []*Scope
	hosts  []string
	loop   *Loop
	seen   map[string]bool // variables whose values were looked into
	tested map[string]bool // names that may be missing here
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
		if text != nil && text.text != nil {
			s.look(text.refs, text.text.sure)
		}
	}
	for _, v := range t.env {
		s.look(v.refs, v.sure())
	}
	if t.nameText != nil {
		s.look(t.nameText.refs, t.nameText.sure)
	}
	if t.Args != nil {
		s.look(t.Args.refs, t.Args.root.sure())
		s.rendered(t)
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
	return extra || set || s.u.tested[name] || s.tested[name] || slices.Contains(s.u.lib.Given, name) || s.u.asked(name) ||
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
		s.u.fail(look.pos.Errorf("%s: unknown name %q%s%s%s", look.what, look.name, where, hint(look.name, s.known(without[0])), look.by))
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
