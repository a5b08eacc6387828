package jinja

import (
	"slices"
	"strconv"
	"strings"
)

// test prints `x is name(args)`.
func (w *templatePrinter) test(t test) string {
	switch t.name {
	case "defined":
		return w.defined(bare(t.of))
	case "undefined":
		return fn("not", w.defined(bare(t.of)))
	case "none", "null":
		return fn("eq", w.value(t.of), "nil")
	case "failed", "changed", "skipped":
		return w.member(w.value(t.of), text(t.name))
	case "match":
		return fn("regexMatch", anchored(w.value(t.args.at(0, ""))), w.value(t.of))
	case "search", "regex":
		return fn("regexMatch", w.value(t.args.at(0, "")), w.value(t.of))
	case "version", "version_compare":
		e := &exprPrinter{}
		out := e.version(test{name("x"), t.name, t.args})
		if e.err != nil {
			return w.fail("%v", e.err)
		}
		op := out[strings.LastIndex(out, ") ")+2 : len(out)-2]
		return fn(comparing[op], fn("versionCompare", w.value(t.of), w.value(t.args.at(0, ""))), "0")
	case "string", "mapping", "sequence", "boolean":
		return fn("kindIs", map[string]string{"string": `"string"`, "mapping": `"map"`, "sequence": `"slice"`, "boolean": `"bool"`}[t.name], w.value(t.of))
	case "in":
		return w.binary(binary{"in", t.of, t.args.at(0, "")})
	case "equalto", "eq", "sameas":
		return w.binary(binary{"==", t.of, t.args.at(0, "")})
	}
	return w.fail("there is no test %q in templates", t.name)
}

func (w *templatePrinter) defined(n node) string {
	switch t := n.(type) {
	case name:
		if slices.Contains(w.locals, string(t)) {
			return "true"
		}
		return fn("hasKey", w.root(), strconv.Quote(string(t)))
	case field:
		return fn("hasKey", w.value(t.of), w.value(t.key))
	}
	return w.fail("`is defined` wants a name")
}
