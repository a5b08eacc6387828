package jinja

import "strconv"

// printer prints each kind of node in one syntax. [printValue] chooses the method.
type printer interface {
	path(node) string
	group(grouped) string
	slice(slice) string
	list(list) string
	certainList(certainList) string
	dict(dict) string
	not(node) string
	negative(node) string
	binary(binary) string
	choice(choice) string
	test(test) string
	filter(filter) string
	call(call) string
	fail(format string, args ...any) string
}

// printValue prints a value in the syntax of w.
func printValue(w printer, n node) string {
	switch t := n.(type) {
	case nil:
		return "nil"
	case grouped:
		return w.group(t)
	case text:
		return strconv.Quote(string(t))
	case literal:
		return string(t)
	case name, field:
		return w.path(n)
	case slice:
		return w.slice(t)
	case list:
		return w.list(t)
	case certainList:
		return w.certainList(t)
	case dict:
		return w.dict(t)
	case unary:
		if t.op == "not" {
			return w.not(t.x)
		}
		return w.negative(t.x)
	case binary:
		return w.binary(t)
	case choice:
		return w.choice(t)
	case test:
		return w.test(t)
	case filter:
		return w.filter(t)
	case call:
		return w.call(t)
	}
	return w.fail("cannot be translated")
}

// valueOr prints a value, and other when it is missing.
func valueOr(w printer, n node, other string) string {
	if n == nil {
		return other
	}
	return printValue(w, n)
}
