package compile

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/jsontypes"
	"deployer/strictyaml"
)

// iteration is one item of a loop at an include; the zero value is that of an include
// without a loop.
type iteration struct {
	item  *lang.Value
	index int
	// hosts are those whose lists have that many items; nil for all.
	hosts map[string]bool
	// probe is a condition that evaluates the item, so that a host whose list cannot be
	// computed fails with the reason; may be nil.
	probe *lang.Expr
}

// in returns the context of tasks inside of the iteration.
func (t iteration) in(x taskContext, l *program.Loop) taskContext {
	s := &lang.Scope{Layer: lang.LoopItems, Vars: map[string]*lang.Value{l.Var: t.item}, Names: []string{l.Var}}
	loops := maps.Clone(x.loops)
	if loops == nil {
		loops = map[string]strictyaml.Pos{}
	}
	loops[l.Var] = l.Pos
	if l.IndexVar != "" {
		s.Vars[l.IndexVar], loops[l.IndexVar] = lang.Constant(l.Pos, t.index), l.Pos
		s.Names = append(s.Names, l.IndexVar)
	}
	x = x.with(s)
	if x.loops = loops; l.Label != nil {
		x.labels = append(slices.Clip(x.labels), l.Label)
	}
	return x
}

func (t iteration) conditions() []*lang.Expr {
	if t.probe == nil {
		return nil
	}
	return []*lang.Expr{t.probe}
}

// unrollLoop returns the iterations of a loop at an include. The included tasks are
// compiled once for each of them, so that barriers, plans and reverts know each task by
// itself. The number of items must be known before the run: a written list may contain any
// expressions, a computed one may read what is known of a host by then. conditional is true
// when the include has a condition.
func (c *compiler) unrollLoop(x taskContext, l *program.Loop, form string, conditional bool) ([]iteration, bool) {
	if l.List != nil {
		out := make([]iteration, len(l.List.Elements()))
		for i, item := range l.List.Elements() {
			out[i] = iteration{item: item, index: i}
		}
		return out, true
	}
	if c.asides > 0 {
		return []iteration{{item: lang.PerHost(l.Pos)}}, true // what the loop around gives is not known
	}
	for b := x.block; b != nil; b = b.Parent {
		conditional = conditional || len(b.When) > 0
	}
	if why := c.whyUnknown(x, l, conditional); why != "" {
		c.fail(l.Pos.Errorf("loop at %s: the number of items must be known before any host is contacted, and %s; loop at the included tasks, or loop over all possible items with a condition on the item", form, why))
		return nil, false
	}
	lists, ok := c.lists(x, l)
	if !ok {
		c.fail(l.Pos.Errorf("loop at %s: it has more than %d items, those of all hosts together; loop at tasks and not at includes", form, maxItems))
		return nil, false
	}
	for _, host := range slices.Sorted(maps.Keys(lists)) {
		switch err := lists[host].err; {
		case err == nil:
		case errors.Is(err, lang.ErrLookupUnknown):
			c.unchecked(l.Pos.Errorf("loop at %s: the items are not checked, because they depend on a lookup; the included tasks are checked once, without an item", form))
		case !conditional:
			c.fail(lists[host].errorOn(host))
			return nil, false
		}
	}
	return c.iterations(l, lists), true
}

// unchecked records what no check before the run can decide.
func (c *compiler) unchecked(note *strictyaml.Error) {
	if !slices.ContainsFunc(c.prog.Unchecked, func(n *strictyaml.Error) bool { return *n == *note }) {
		c.prog.Unchecked = append(c.prog.Unchecked, note)
	}
}

// list is the list of a loop on one host, or the error of computing it, which has a place.
type list struct {
	items []any
	err   error
}

// errorOn returns the error of a list with the host, which may be empty.
func (l list) errorOn(host string) error {
	var at *strictyaml.Error
	if host == "" || !errors.As(l.err, &at) {
		return l.err
	}
	withContext := *at
	withContext.Msg += " (on " + host + ")"
	return &withContext
}

// iterations makes the iterations from the lists of the hosts. A host whose list cannot be
// computed is in the first iteration, to fail there with the reason; so is one whose list depends
// on a lookup that is not evaluated, so that its tasks are checked.
func (c *compiler) iterations(l *program.Loop, lists map[string]list) []iteration {
	var out []iteration
	for i := 0; ; i++ {
		t := iteration{index: i, item: lang.PerHost(l.Pos), hosts: map[string]bool{}}
		for host, of := range lists {
			switch {
			case of.err != nil && i == 0:
				t.item.SetHost(host, nil, of.err)
				t.hosts[host] = true
				t.probe, _ = lang.CompileExpr(l.Var+" == nil or true", l.Expr.Origin())
			case i < len(of.items):
				t.item.SetHost(host, of.items[i], nil)
				t.hosts[host] = true
			}
		}
		if len(t.hosts) == 0 {
			return out
		}
		if len(t.hosts) == len(lists) {
			t.hosts = nil
		}
		out = append(out, t)
	}
}

// whyUnknown returns what the list of a loop reads that only the run computes. The result is empty
// when everything is known, or when only variables of the inventory lead there and the
// include has a condition.
func (c *compiler) whyUnknown(x taskContext, l *program.Loop, conditional bool) string {
	refs, via := c.throughInventory(x, lang.Closure(x.scopes, l.Refs))
	if refs.All() {
		return "it reads all variables"
	}
	for _, name := range refs.Names() {
		why := c.whyUnknownName(x, name)
		switch {
		case why == "", via[name] != nil && conditional: // a host with this variable may not reach the include
		case via[name] != nil:
			return fmt.Sprintf("%s (through the variable at %s)", why, via[name].Pos)
		default:
			return why
		}
	}
	return ""
}

// whyUnknownName returns why the value of a variable is known in the run only; empty when
// it is known before.
func (c *compiler) whyUnknownName(x taskContext, name string) string {
	switch name {
	case "facts", "run", "result", "failure":
		return "it reads " + name
	}
	if _, given := c.lib.Extra[name]; given {
		return ""
	}
	if c.prog.IsPrompted(name) || slices.Contains(c.lib.Promised, name) {
		return fmt.Sprintf("it reads %s, which the user is asked for later; set it with -e %[1]s=...", name)
	}
	for _, t := range slices.Concat(c.prog.AllTasks(), x.state.handlers) {
		if slices.Contains(t.Defines(), name) {
			return fmt.Sprintf("it reads %s, which the task at %s gives a value", name, t.Pos)
		}
	}
	return ""
}

// throughInventory adds the variables that variables of the inventory read in turn. The
// second result is the variable of the inventory that leads to each of them.
func (c *compiler) throughInventory(x taskContext, refs lang.Refs) (lang.Refs, map[string]*lang.Value) {
	via, seen := map[string]*lang.Value{}, map[*lang.Value]bool{}
	if c.lib.Vars == nil || c.lib.Match == nil {
		return refs, via
	}
	hosts, _ := c.lib.Match(x.play.Hosts) // play has reported the error
	for _, host := range hosts {
		vars := c.lib.Vars(host)
		for todo := refs.Names(); len(todo) > 0; todo = todo[1:] {
			value, _ := vars[todo[0]].(*lang.Value)
			if value == nil || seen[value] || lang.HiddenByScopes(x.scopes, todo[0]) {
				continue
			}
			seen[value] = true
			more := lang.Closure(x.scopes, value.Refs())
			if more.All() {
				refs.Merge(lang.Everything())
			}
			for _, name := range more.Names() {
				if !refs.Has(name) {
					refs.Add(name)
					via[name], todo = value, append(todo, name)
				}
			}
		}
	}
	return refs, via
}

// lists evaluates the list of a loop for each host of the play; under the empty name when
// no variables of hosts are known. It is not ok for more items than maxItems.
func (c *compiler) lists(x taskContext, l *program.Loop) (out map[string]list, ok bool) {
	out = map[string]list{}
	if c.lib.Vars == nil || c.lib.Match == nil {
		out[""] = c.listOf(x, l, nil)
		return out, len(out[""].items) <= maxItems
	}
	hosts, _ := c.lib.Match(x.play.Hosts) // play has reported the error
	items := 0
	for _, host := range hosts {
		out[host] = c.listOf(x, l, c.lib.Vars(host))
		if items += len(out[host].items); items > maxItems {
			return nil, false
		}
	}
	return out, true
}

func (c *compiler) listOf(x taskContext, l *program.Loop, base map[string]any) (out list) {
	fixed := map[string]any{}
	for name, value := range c.lib.Extra {
		fixed[name] = jsontypes.Normalize(value)
	}
	v := lang.NewVars(base, fixed)
	err := v.PushScope(x.scopes, l.Refs)
	if err == nil {
		out.items, err = l.Items(v.Map())
	}
	if err != nil && !errors.As(err, new(*strictyaml.Error)) {
		err = l.Pos.Errorf("loop: %v", err)
	}
	out.err = err
	return out
}
