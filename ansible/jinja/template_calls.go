package jinja

// call prints a call of a Python method on a text, list or mapping.
func (w *templatePrinter) call(c call) string {
	if c.of == nil {
		e := &exprPrinter{}
		e.function(c)
		if e.err == nil && c.name == "range" {
			return fn("untilStep", append(w.bounds(c.args.list), "1")...)
		}
		if e.err == nil {
			return w.fail("unknown function %s()", c.name)
		}
		return w.fail("%v", e.err)
	}
	arg := c.args.at(0, "")
	switch c.name {
	case "split":
		return fn("splitList", w.or(arg, `" "`), w.value(c.of))
	case "startswith":
		return fn("hasPrefix", w.value(arg), w.value(c.of))
	case "endswith":
		return fn("hasSuffix", w.value(arg), w.value(c.of))
	case "strip":
		return fn("trim", w.value(c.of))
	case "lower", "upper", "keys", "values":
		return fn(c.name, w.value(c.of))
	case "get":
		return fn("dig", w.value(arg), w.or(c.args.at(1, ""), `""`), w.value(c.of))
	case "join":
		return fn("join", w.value(c.of), w.value(arg))
	case "replace":
		return fn("replace", append(w.all(c.args.list), w.value(c.of))...)
	case "items":
		return w.fail("{{ range $key, $value := MAPPING }} goes over a mapping")
	}
	return w.fail("there is no method %s()", c.name)
}

func (w *templatePrinter) bounds(args []node) []string {
	if len(args) == 1 {
		return []string{"0", w.value(args[0])}
	}
	return w.all(args)
}
