package vet

import (
	"maps"
	"slices"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/shortlist"
)

// useCheck collects the variables that a task or a block reads on every host that reaches
// it, and reports those that hosts lack.
type useCheck struct {
	u      *undefinedNames
	scopes []*lang.Scope
	hosts  []string
	all    []string // the hosts before those without an item were left out; nil: hosts
	loop   *program.Loop
	seen   map[string]bool // variables whose values were followed
	tested lang.Refs       // variables that may be missing here
	// nowhere is true where it is not certain that a host comes here: only names that no host
	// has are reported. own are the variables that tasks there give a value.
	nowhere bool
	own     map[string]bool
	uses    []lang.VarUse
}

// addConditions adds the variables of conditions. Only the first condition is evaluated on
// every host; the variables of all conditions are resolved before.
func (s *useCheck) addConditions(when []*lang.Expr) {
	for i, e := range when {
		if i == 0 {
			s.add(e.Refs(), e.DefiniteUses())
		} else {
			s.add(e.Refs(), nil)
		}
	}
}

func (s *useCheck) addTask(t *program.Task) {
	if t.Throttle != nil {
		s.add(t.Throttle.Refs(), t.Throttle.DefiniteUses())
	}
	if t.Args != nil {
		s.checkArguments(t)
	}
	if t.Loop == nil {
		s.addBody(t)
		return
	}
	if t.Loop.Expr == nil {
		s.add(t.Loop.Refs, t.Loop.List.DefiniteUses())
		if len(t.Loop.List.Elements()) > 0 {
			s.addBody(t)
			return
		}
	} else {
		s.add(t.Loop.Refs, t.Loop.Expr.DefiniteUses())
	}
	body := &useCheck{u: s.u, scopes: s.scopes, hosts: s.hosts, all: s.hosts, loop: s.loop}
	if with := s.hostsWithItems(t); len(with) > 0 {
		body.hosts = with
	} else {
		body.nowhere = true
	}
	body.addBody(t)
	body.report(t.RunOnce)
}

// hostsWithItems returns the hosts on which a loop is known to have items before the run.
func (s *useCheck) hostsWithItems(t *program.Task) []string {
	if t.Loop.Expr == nil || !s.knownBeforeRun(t.Loop.Refs) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.hosts), func(host string) bool {
		if s.u.evaluations >= maxEvaluations {
			return true
		}
		s.u.evaluations++
		vars := s.u.varsBeforeRun(host)
		defer vars.PopTo(vars.Depth())
		if vars.PushScope(t.Scopes, t.Loop.Refs) != nil {
			return true
		}
		items, err := t.Loop.Items(vars.Map())
		return err != nil || len(items) == 0
	})
}

// addBody adds the variables that a task reads, with a loop for an item.
func (s *useCheck) addBody(t *program.Task) {
	s.add(t.Refs(), nil)
	for _, text := range []*lang.Text{t.Delegate, t.RunAs} {
		if text != nil {
			s.add(text.Refs(), text.DefiniteUses())
		}
	}
	for _, v := range t.Environment {
		s.add(v.Refs(), v.DefiniteUses())
	}
	if t.NameText != nil {
		s.add(t.NameText.Refs(), t.NameText.DefiniteUses())
	}
	if t.Args != nil {
		s.add(t.Args.Refs(), t.Args.DefiniteUses())
		s.checkTemplates(t)
	}
}

// add adds uses, and those in the values of variables: all variables in refs are resolved
// before the task is rendered.
func (s *useCheck) add(refs lang.Refs, sure []lang.VarUse) {
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
			s.add(value.Refs(), value.DefiniteUses())
		}
	}
}

// hasUnknownSource reports whether a variable may have a value other than those of its
// scopes.
func (s *useCheck) hasUnknownSource(name string) bool {
	_, extra := s.u.inv.Extra[name]
	_, set := s.u.prog.Definers[name]
	return extra || set || s.own[name] || s.u.doubts.mayHave(name) || s.u.tested[name] || s.tested.Tested(name) || slices.Contains(s.u.inv.Promised, name) || s.u.prog.IsPrompted(name) ||
		s.loop != nil && (name == s.loop.Var || name == s.loop.IndexVar)
}

// scopeValue returns the value of a variable in its scopes, unless a host of the inventory
// has its own.
func (s *useCheck) scopeValue(name string) *lang.Value {
	if value := lang.ValueOverInventory(s.scopes, name, false); value != nil || len(s.u.without(name)) < len(s.u.inv.RunHosts) {
		return value
	}
	return lang.DefaultValue(s.scopes, name)
}

func (s *useCheck) inScope(name string) bool {
	return slices.ContainsFunc(s.scopes, func(scope *lang.Scope) bool { return scope.Vars[name] != nil })
}

// report records an error for each variable that hosts lack. once is true when one of the
// hosts, and any of them, executes the task for all.
func (s *useCheck) report(once bool) {
	for _, look := range s.uses {
		if s.hasUnknownSource(look.Name) || s.inScope(look.Name) {
			continue
		}
		without := s.u.without(look.Name)
		if len(without) > 0 {
			without = slices.DeleteFunc(slices.Clone(without), func(host string) bool { return !slices.Contains(s.hosts, host) })
		}
		if len(without) == 0 || once && len(without) < len(s.hosts) {
			continue
		}
		where := ""
		switch {
		case s.nowhere && len(without) < len(s.hosts), s.nowhere && len(s.u.without(look.Name)) < len(s.u.inv.RunHosts):
			continue
		case s.nowhere:
			where = " in a loop, whose first item would fail"
		case len(without) < max(len(s.hosts), len(s.all)):
			where = " on " + shortlist.Names(without, 3)
		}
		s.u.errs = append(s.u.errs, look.Pos.Errorf("%s: unknown name %q%s%s%s", look.Source, look.Name, where, lang.NameHint(look.Name, s.knownNames(without[0])), look.User))
	}
}

// knownNames returns the names that a host has at this place, for suggestions.
func (s *useCheck) knownNames(host string) map[string]any {
	out := maps.Clone(s.u.vars[host])
	for _, scope := range s.scopes {
		for _, name := range scope.Names {
			out[name] = nil
		}
	}
	for name := range s.u.prog.Definers {
		out[name] = nil
	}
	return out
}
