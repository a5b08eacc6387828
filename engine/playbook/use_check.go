package playbook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// useCheck are what something looks at in any case, on the hosts that come there.
type useCheck struct {
	u      *undefinedNames
	scopes []*Scope
	hosts  []string
	loop   *Loop
	seen   map[string]bool // variables whose values were looked into
	tested map[string]bool // names that may be missing here
	uses   []varUse
}

// addConditions: only the first is looked at in any case, with what the variables of
// all refer to.
func (s *useCheck) addConditions(when []*Expr) {
	for i, e := range when {
		if i == 0 {
			s.add(e.refs, e.definite)
		} else {
			s.add(e.refs, nil)
		}
	}
}

func (s *useCheck) addTask(t *Task) {
	if t.Throttle != nil {
		s.add(t.Throttle.refs, t.Throttle.definite)
	}
	if t.Loop != nil {
		if t.Loop.expr != nil {
			s.add(t.Loop.refs, t.Loop.expr.definite)
			return // maybe there is no item
		}
		s.add(t.Loop.refs, t.Loop.list.definiteUses())
		if len(t.Loop.list.list) == 0 {
			return
		}
	}
	s.add(t.refs, nil)
	for _, text := range []*Text{t.Delegate, t.user} {
		if text != nil && text.text != nil {
			s.add(text.refs, text.text.definite)
		}
	}
	for _, v := range t.env {
		s.add(v.refs, v.definiteUses())
	}
	if t.nameText != nil {
		s.add(t.nameText.refs, t.nameText.definite)
	}
	if t.Args != nil {
		s.add(t.Args.refs, t.Args.root.definiteUses())
		s.checkTemplates(t)
	}
}

// add notes what is looked at, in the values of variables too: all that may be
// looked at are computed beforehand.
func (s *useCheck) add(refs Refs, sure []varUse) {
	s.uses = append(s.uses, sure...)
	for _, name := range refs.Names() {
		if s.seen[name] || s.hasUnknownSource(name) {
			continue
		}
		if s.seen == nil {
			s.seen = map[string]bool{}
		}
		s.seen[name] = true
		if value := s.scopeValue(name); value != nil {
			s.add(value.refs, value.definiteUses())
		}
	}
}

// hasUnknownSource tells whether a name has a value that may not be what layers say.
func (s *useCheck) hasUnknownSource(name string) bool {
	_, extra := s.u.lib.Extra[name]
	_, set := s.u.defined[name]
	return extra || set || s.u.tested[name] || s.tested[name] || slices.Contains(s.u.lib.Promised, name) || s.u.isPrompted(name) ||
		s.loop != nil && (name == s.loop.Var || name == s.loop.index)
}

// scopeValue is that of a layer, if no host of the inventory has one in its place.
func (s *useCheck) scopeValue(name string) *Value {
	for _, scope := range slices.Backward(s.scopes) {
		value := scope.vars[name]
		if value == nil || scope.Default && len(s.u.without(name)) < len(s.u.lib.RunHosts) {
			continue
		}
		return value
	}
	return nil
}

func (s *useCheck) inScope(name string) bool {
	return slices.ContainsFunc(s.scopes, func(scope *Scope) bool { return scope.vars[name] != nil })
}

// report says which of the variables are missing. once: one host does it for all,
// and it may be any.
func (s *useCheck) report(once bool) {
	for _, look := range s.uses {
		if s.hasUnknownSource(look.name) || s.inScope(look.name) {
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
			where = " on " + firstFew(without)
		}
		s.u.fail(look.pos.Errorf("%s: unknown name %q%s%s%s", look.what, look.name, where, hint(look.name, s.knownNames(without[0])), look.by))
	}
}

// knownNames are the names that a host has there, for advice.
func (s *useCheck) knownNames(host string) map[string]any {
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

// firstFew names hosts, the first of many.
func firstFew(hosts []string) string {
	if len(hosts) <= 3 {
		return strings.Join(hosts, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(hosts[:3], ", "), len(hosts)-3)
}
