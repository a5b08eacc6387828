package compile

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/compile/vet"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/strictyaml"
)

// identifiers matches what may be the name of a variable in a text.
var identifiers = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// lost records that a node could not be compiled: every name in it may have got a value there.
// So names are checked in a program with errors, too, and a wrong key does not hide them.
func (c *compiler) lost(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		for _, name := range identifiers.FindAllString(n.Value, -1) {
			c.doubts.Names[name] = true
		}
	}
	for _, child := range n.Content {
		c.lost(child)
	}
}

// lostKeys is lost for the values of keys that are not known.
func (c *compiler) lostKeys(n *yaml.Node, known []string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if !slices.Contains(known, n.Content[i].Value) {
			c.lost(n.Content[i+1])
		}
	}
}

// meantWord returns the keyword or module that a misspelt key of a task is likely to mean, so
// that the task is compiled, and checked, as it is meant; empty when nothing is near or the task
// has the key already.
func (c *compiler) meantWord(word string, task *yaml.Node, known []string) string {
	if _, ansible := ansibleTaskKeywords[word]; ansible || strings.Contains(word, ".") {
		return ""
	}
	ours := strictyaml.Suggest(word, append(slices.Clone(known), c.lib.Registry.Names()...))
	if len(ours)-len(word) > 2 || len(word)-len(ours) > 2 {
		return "" // one is the beginning of the other
	}
	_, module := c.lib.Registry[ours]
	for i := 0; i < len(task.Content); i += 2 {
		key := task.Content[i].Value
		if _, other := c.lib.Registry[key]; key == ours || other && module {
			return ""
		}
	}
	return ours
}

// lostFile records that tasks or variables of unknown names could not be compiled.
func (c *compiler) lostFile() { c.doubts.Any = true }

// unknownCondition returns the condition that stands for one that could not be compiled, so
// that its task does not count as one that every host executes.
func unknownCondition(pos strictyaml.Pos) *lang.Expr {
	e, err := lang.CompileExpr("true", lang.Origin{Start: pos})
	if err != nil {
		panic(err) // true is an expression
	}
	return e
}

// checkNames adds the errors of package vet to those of the compilation, which has found some
// of them already.
func (c *compiler) checkNames() {
	if c.full { // a part of the playbook is missing
		return
	}
	found := map[string]bool{}
	for _, err := range c.errs {
		found[nameOf(err)] = true
	}
	for _, err := range vet.UndefinedNames(c.prog, c.inventory(), c.doubts) {
		if name := nameOf(err); name == "" || !found[name] {
			c.fail(err)
		}
	}
}

var unknownNameText = regexp.MustCompile(`unknown name "[^"]*"`)

// nameOf returns the line and the name of an unknown name; empty for another error.
func nameOf(err error) string {
	at := (*strictyaml.Error)(nil)
	if !errors.As(err, &at) {
		return ""
	}
	name := unknownNameText.FindString(at.Msg)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d: %s", at.File, at.Line, name)
}

// aside compiles tasks for their errors only: those of an include whose loop has no items, or
// none that can be computed. It returns these tasks; nothing of them stays in the program.
func (c *compiler) aside(x taskContext, compile func(taskContext)) []*program.Task {
	prog, labels, needs, rollouts, started, passed := *c.prog, c.labels, c.needs, c.rollouts, c.started, c.passed
	c.labels, c.rollouts = maps.Clone(labels), maps.Clone(rollouts)
	outer, state := x.state, *x.state
	state.byName, state.listeners, state.applied = maps.Clone(state.byName), maps.Clone(state.listeners), maps.Clone(state.applied)
	x.state = &state
	c.asides++
	compile(x)
	c.asides--
	prog.Secrets, prog.Unchecked = c.prog.Secrets, c.prog.Unchecked
	made := slices.Clone(c.prog.Tasks[len(prog.Tasks):])
	c.doubts.Unreached = append(c.doubts.Unreached, made...)
	outer.notifies = state.notifies // their handlers may come later
	*c.prog, c.labels, c.needs, c.rollouts, c.started, c.passed = prog, labels, needs, rollouts, started, passed
	return made
}

// mayGuard reports whether an unknown key of a task may be meant to keep hosts from it, or to
// give variables to it.
func mayGuard(word string) bool {
	_, known := ansibleTaskKeywords[word]
	return !known || strings.HasPrefix(word, "with_")
}
