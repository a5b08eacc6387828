package dialect

import (
	"github.com/expr-lang/expr/parser/lexer"
)

// Suffixes of the functions that tests call: `x is even` calls even__is, `x is not even`
// even__isnot.
const (
	isSuffix    = "__is"
	isNotSuffix = "__isnot"
)

// The functions that `x is defined` and `x is not defined` call. Their argument may be
// missing; package lang replaces the calls.
const (
	DefinedName    = "defined" + isSuffix
	NotDefinedName = "defined" + isNotSuffix
)

// resultTests are tests of a registered result: the field that each reads, and the value
// that the field has when the test holds.
var resultTests = map[string]struct {
	field string
	value string
}{
	"failed": {"failed", "true"}, "failure": {"failed", "true"}, "succeeded": {"failed", "false"}, "success": {"failed", "false"}, "successful": {"failed", "false"},
	"changed": {"changed", "true"}, "change": {"changed", "true"}, "skipped": {"skipped", "true"}, "skip": {"skipped", "true"},
}

// test rewrites `X is TEST`. test returns false when there is no such test, so that the
// parser reports the error.
func (r *rewriter) test() bool {
	top := r.top()
	first := r.i + 1
	negated := r.is(first, lexer.Operator, "not")
	if negated {
		first++
	}
	if top.operand < 0 || !r.is(first, lexer.Identifier) && !r.is(first, lexer.Operator, "in", "contains") {
		return false
	}
	last := r.qualified(first)
	is, name := r.toks[r.i], r.toks[last]
	if result, ok := resultTests[name.Value]; ok {
		if (result.value == "true") == negated {
			r.wrap(r.toks[top.operand].From, "(")
			r.replace(is, name, "."+result.field+" == false)")
		} else {
			r.replace(is, name, "."+result.field)
		}
		r.i = last
		return true
	}
	function := name.Value
	if function == "undefined" {
		function, negated = "defined", !negated
	}
	takes, known := testArguments[function]
	if !known {
		return false
	}
	if negated {
		function += isNotSuffix
	} else {
		function += isSuffix
	}
	r.wrap(r.toks[top.operand].From, "(")
	r.replace(is, name, "| "+function)
	r.i = last
	if r.is(last+1, lexer.Bracket, "(") {
		r.i++
		r.frames = append(r.frames, frame{operand: -1, expect: true, call: true, closes: true, named: -1, first: r.i + 1})
		return true
	}
	if end := r.plainOperand(last + 1); takes && end > last {
		r.insert(r.toks[last+1].From, "(")
		r.insert(r.toks[end].To, "))")
		r.i = end
		return true
	}
	r.insert(name.To, "())")
	return true
}

// plainOperand returns the last token of an argument without parentheses, as in `x is
// divisibleby 3`: a constant, a path of names or a list. plainOperand returns -1 for none.
func (r *rewriter) plainOperand(i int) int {
	switch {
	case r.is(i, lexer.String), r.is(i, lexer.Number):
		return i
	case r.is(i, lexer.Identifier) && r.toks[i].Value != "is":
		for r.is(i+1, lexer.Operator, ".") && r.is(i+2, lexer.Identifier) {
			i += 2
		}
		return i
	case r.is(i, lexer.Bracket, "["):
		for depth := 0; i < len(r.toks); i++ {
			if r.is(i, lexer.Bracket, "[", "(", "{") {
				depth++
			} else if r.is(i, lexer.Bracket) {
				depth--
			}
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}
