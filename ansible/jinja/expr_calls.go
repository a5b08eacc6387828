package jinja

import "strconv"

// call prints a call of a Python method on a text, list or mapping.
func (w *exprPrinter) call(c call) string {
	if c.of == nil {
		return w.function(c)
	}
	arg := c.args.at(0, "")
	switch c.name {
	case "split":
		return "split(" + w.value(c.of) + ", " + w.or(arg, `" "`) + ")"
	case "startswith":
		return w.tight(c.of) + " startsWith " + w.tight(arg)
	case "endswith":
		return w.tight(c.of) + " endsWith " + w.tight(arg)
	case "strip":
		return "trim(" + w.value(c.of) + ")"
	case "lower", "upper", "keys", "values":
		return c.name + "(" + w.value(c.of) + ")"
	case "items":
		return "toPairs(" + w.value(c.of) + ")"
	case "get":
		return "(" + w.tight(c.of) + "?.[" + w.value(arg) + "] ?? " + w.or(c.args.at(1, ""), "nil") + ")"
	case "join":
		return "join(" + w.value(arg) + ", " + w.value(c.of) + ")"
	case "replace":
		return "replace(" + w.value(c.of) + ", " + w.all(c.args.list) + ")"
	case "find":
		return "indexOf(" + w.value(c.of) + ", " + w.value(arg) + ")"
	}
	return w.fail("there is no method %s()", c.name)
}

func (w *exprPrinter) function(c call) string {
	what, _ := c.args.at(0, "").(text)
	switch {
	case isLookup(c):
	case c.name == "lookup" || c.name == "query" || c.name == "q":
		return w.fail("there is no lookup(%s): %s", strconv.Quote(string(what)), LookupAdvice(string(what)))
	case c.name == "range" && len(c.args.list) == 2:
		return w.tight(c.args.list[0]) + "..(" + w.value(c.args.list[1]) + " - 1)"
	case c.name == "range" && len(c.args.list) == 1:
		return "0..(" + w.value(c.args.list[0]) + " - 1)"
	case c.name == "dict" || c.name == "namespace" || c.name == "now":
		return w.fail("there is no %s()", c.name)
	}
	return c.name + "(" + w.all(c.args.list) + ")" // the compiler of expr reports a function that does not exist
}

// isLookup reports whether a call is a lookup that deployer supports.
func isLookup(c call) bool {
	if c.name != "lookup" && c.name != "query" && c.name != "q" {
		return false
	}
	what, _ := c.args.at(0, "").(text)
	switch lookupPlugin(string(what)) {
	case "file", "env", "password", "template":
		return true
	}
	return false
}
