package jinja

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// expr prints an expression as a call of the function expr, which evaluates an expression
// of playbooks: {{ expr "ports | max" $ }}. The functions of text/template and sprig differ
// from Jinja's filters and operators in many ways: they convert their operands.
func (w *templatePrinter) expr(n node) string {
	e := &exprPrinter{Translator: w.Translator, locals: w.locals, template: true}
	out := outer(e.value(n))
	return w.evaluated(e, out, n)
}

// evaluated prints the call of expr with the variables of the template that an expression
// reads.
func (w *templatePrinter) evaluated(e *exprPrinter, out string, n node) string {
	if e.err != nil {
		return w.fail("%v", e.err)
	}
	w.notes = append(w.notes, e.notes...)
	args := []string{quoteExpr(out), "$"}
	used := map[string]string{}
	w.collectLocals(n, used)
	for _, name := range slices.Sorted(maps.Keys(used)) {
		args = append(args, strconv.Quote(name), used[name])
	}
	return fn("expr", args...)
}

// quoteExpr prints an expression as a text of text/template.
func quoteExpr(s string) string {
	if strings.Contains(s, `"`) && !strings.ContainsAny(s, "`\n") {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}

// collectLocals collects the variables of the template that an expression reads, by their
// names in it, with what has their value.
func (w *templatePrinter) collectLocals(n node, used map[string]string) {
	walk(n, func(n node) {
		switch t := n.(type) {
		case name:
			if slices.Contains(w.locals, string(t)) {
				used[string(t)] = "$" + string(t)
			}
		case field:
			if key, ok := t.key.(text); ok && t.of == name("loop") {
				used["loop_"+string(key)] = w.inLoop(string(key))
			}
		}
	})
}

// walk calls visit for a node and all nodes below it.
func walk(n node, visit func(node)) {
	if n == nil {
		return
	}
	visit(n)
	arguments := func(a arguments) {
		for _, v := range a.list {
			walk(v, visit)
		}
		for _, v := range a.named {
			walk(v, visit)
		}
	}
	switch t := n.(type) {
	case grouped:
		walk(t.x, visit)
	case certainList:
		walk(t.x, visit)
	case field:
		walk(t.of, visit)
		walk(t.key, visit)
	case slice:
		walk(t.of, visit)
		walk(t.from, visit)
		walk(t.to, visit)
	case call:
		walk(t.of, visit)
		arguments(t.args)
	case filter:
		walk(t.of, visit)
		arguments(t.args)
	case test:
		walk(t.of, visit)
		arguments(t.args)
	case unary:
		walk(t.x, visit)
	case binary:
		walk(t.a, visit)
		walk(t.b, visit)
	case choice:
		walk(t.cond, visit)
		walk(t.then, visit)
		walk(t.other, visit)
	case list:
		for _, v := range t {
			walk(v, visit)
		}
	case dict:
		for _, p := range t {
			walk(p.key, visit)
			walk(p.value, visit)
		}
	}
}
