package jinja

import "strconv"

// call prints a call of a Python method on a text, list or mapping.
func (w *exprPrinter) call(c call) string {
	if c.of == nil {
		return w.function(c)
	}
	most, ok := methodArguments[c.name]
	if !ok || len(c.args.list) > most || len(c.args.named) > 0 {
		return w.fail("there is no method %s() with these arguments", c.name)
	}
	arg := c.args.at(0, "")
	switch c.name {
	case "split":
		return w.piped(filter{c.of, "split", c.args})
	case "strip":
		if arg != nil {
			return w.piped(filter{c.of, "trim", c.args})
		}
		return "trim(" + w.value(c.of) + ")"
	case "capitalize":
		return w.piped(filter{c.of, "capitalize", c.args})
	case "keys", "values":
		w.note("%s(): %s", c.name, sortedKeys)
		return c.name + "(" + w.value(c.of) + ")"
	case "items":
		w.note("items(): %s", sortedKeys)
		return "toPairs(" + w.value(c.of) + ")"
	case "lower", "upper":
		return c.name + "(" + w.value(c.of) + ")"
	case "replace":
		return w.piped(filter{c.of, "replace", c.args})
	}
	if arg == nil {
		return w.fail("%s() wants an argument", c.name)
	}
	switch c.name {
	case "startswith":
		return w.tight(c.of) + " startsWith " + w.tight(arg)
	case "endswith":
		return w.tight(c.of) + " endsWith " + w.tight(arg)
	case "get":
		if c.args.at(1, "") == nil {
			w.note("get(): null where Ansible has an empty text when it is printed")
		}
		return "(" + w.tight(c.of) + "?.[" + w.value(arg) + "] ?? " + w.or(c.args.at(1, ""), "nil") + ")"
	case "join":
		return w.piped(filter{arg, "join", arguments{list: []node{c.of}}})
	}
	return "indexOf(" + w.value(c.of) + ", " + w.value(arg) + ")" // find
}

// methodArguments holds the methods that have a translation, with the number of their
// arguments at most.
var methodArguments = map[string]int{
	"split": 2, "strip": 1, "capitalize": 0, "keys": 0, "values": 0, "items": 0, "lower": 0, "upper": 0, "replace": 3,
	"startswith": 1, "endswith": 1, "get": 2, "join": 1, "find": 1,
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
	case c.name == "dict" || c.name == "namespace" || c.name == "now" || c.name == "range":
		return w.fail("there is no %s() with these arguments", c.name)
	}
	if len(c.args.named) > 0 {
		return w.fail("there is no %s() with these arguments", c.name)
	}
	return c.name + "(" + w.all(c.args.list) + ")" // the compiler of expr reports a function that does not exist
}

// isLookup reports whether a call is a lookup that deployer supports.
func isLookup(c call) bool {
	if c.name != "lookup" && c.name != "query" && c.name != "q" || len(c.args.named) > 0 {
		return false
	}
	what, _ := c.args.at(0, "").(text)
	switch lookupPlugin(string(what)) {
	case "file", "env", "password", "template":
		return true
	}
	return false
}
