package jinja

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// texts prints actions of text/template. The first thing that cannot be said is
// err.
type texts struct {
	err    error
	locals []string // of loops and set, innermost last
	index  string   // the variable with the position in the loop around
	of     string   // what the loop around goes over
	deep   bool     // inside of a loop, where the dot may be something else
}

func (w *texts) fail(format string, args ...any) string {
	if w.err == nil {
		w.err = fail(format, args...)
	}
	return ""
}

// pipe prints what stands in an action: a call without parentheses around it.
func (w *texts) pipe(n node) string {
	out := w.value(n)
	if strings.HasPrefix(out, "(") && closes(out) == len(out)-1 {
		return out[1 : len(out)-1]
	}
	return out
}

// closes is where the parenthesis that begins a text ends.
func closes(s string) int {
	depth := 0
	for i, c := range unquoted(s) {
		switch c {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// fn prints a function with arguments that stand by themselves.
func fn(name string, args ...string) string { return "(" + name + " " + strings.Join(args, " ") + ")" }

func (w *texts) value(n node) string {
	switch t := n.(type) {
	case nil, grouped:
		if t == nil {
			return "nil"
		}
		return w.value(bare(n))
	case text:
		return strconv.Quote(string(t))
	case literal:
		return string(t)
	case name, field:
		return w.path(n)
	case slice:
		return w.slice(t)
	case list:
		if len(t) == 0 {
			return "list"
		}
		return fn("list", w.all(t)...)
	case dict:
		return w.dict(t)
	case unary:
		if t.op == "not" {
			return fn("not", w.value(t.x))
		}
		return fn("sub", "0", w.value(t.x))
	case binary:
		return w.binary(t)
	case choice:
		return fn("ternary", w.value(t.then), w.value(t.other), w.truth(t.cond))
	case test:
		return w.test(t)
	case filter:
		return w.filter(t)
	case call:
		return w.call(t)
	}
	return w.fail("cannot be translated")
}

// managed stands for ansible_managed.
const managed = "Managed by deployer: changes are overwritten."

// branches prints a choice. A function computes all its arguments, so one that may
// fail where it is not chosen stands between if and else.
func (w *texts) branches(c choice) string {
	if t, ok := bare(c.cond).(test); ok && t.name == "defined" && samePath(t.of, c.then) {
		return w.pipe(filter{t.of, "default", arguments{list: []node{c.other}}})
	}
	if constant(c.then) && constant(c.other) {
		return w.pipe(c)
	}
	return "if " + w.pipe(c.cond) + " }}{{ " + w.pipe(c.then) + " }}{{ else }}{{ " + w.pipe(c.other) + " }}{{ end"
}

func samePath(a, b node) bool {
	left, ok := path(bare(a))
	right, good := path(bare(b))
	return ok && good && slices.Equal(left, right)
}

func constant(n node) bool {
	switch bare(n).(type) {
	case text, literal:
		return true
	}
	return false
}

// truth is for ternary, which wants true or false and nothing like them.
func (w *texts) truth(n node) string {
	switch bare(n).(type) {
	case test, binary, unary:
		return w.value(n)
	}
	return fn("not", fn("empty", w.value(n)))
}

func (w *texts) all(nodes []node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = w.value(n)
	}
	return out
}

func (w *texts) dict(d dict) string {
	if len(d) == 0 {
		return "dict"
	}
	var args []string
	for _, p := range d {
		args = append(args, w.value(p.key), w.value(p.value))
	}
	return fn("dict", args...)
}

func (w *texts) slice(s slice) string {
	args := []string{w.value(s.of), "0"}
	if s.from != nil {
		args[1] = w.value(s.from)
	}
	if s.to != nil {
		args = append(args, w.value(s.to))
	}
	return fn("slice", args...)
}

// root is how the variables of the host are called there.
func (w *texts) root() string {
	if w.deep {
		return "$"
	}
	return "."
}

func (w *texts) from(path string) string { return strings.TrimSuffix(w.root(), ".") + "." + path }

func (w *texts) path(n node) string {
	ours, err := special(n)
	if err != nil {
		return w.fail("%v", err)
	}
	if ours != "" {
		return w.from(ours)
	}
	switch factName(n) {
	case "architecture":
		return w.from("facts.arch")
	case "distribution_major_version":
		return fn("index", fn("splitList", `"."`, w.from("facts.os_version")), "0")
	case "memtotal_mb":
		return fn("div", w.from("facts.memory_bytes"), "1048576")
	case "date_time":
		return w.fail("the only time there is facts.unix_time, in seconds")
	}
	if f, ok := n.(field); ok {
		return w.field(f)
	}
	s := string(n.(name))
	switch {
	case slices.Contains(w.locals, s):
		return "$" + s
	case s == "hostvars":
		return w.fail("variables of hosts are .hosts.NAME.vars")
	case s == "ansible_managed":
		return strconv.Quote(managed)
	case s == "omit":
		return "omit"
	case nothing[s] != "":
		return w.fail("there is no %s; %s", s, nothing[s])
	}
	return w.from(s)
}

// inLoop are the fields of loop.
func (w *texts) inLoop(key string) string {
	if w.index == "" {
		return w.fail("loop.%s outside of a loop", key)
	}
	switch key {
	case "index":
		return fn("add1", w.index)
	case "index0":
		return w.index
	case "first":
		return fn("eq", w.index, "0")
	case "last":
		return fn("eq", fn("add1", w.index), fn("len", w.of))
	case "length":
		return fn("len", w.of)
	}
	return w.fail("there is no loop.%s", key)
}

func (w *texts) field(f field) string {
	if key, ok := f.key.(text); ok && f.of == name("loop") {
		return w.inLoop(string(key))
	}
	if host, ok := f.of.(field); ok && host.of == name("hostvars") {
		of := w.member(w.from("hosts"), host.key)
		if f.key == text("ansible_host") || f.key == text("ansible_ssh_host") {
			return w.member(of, text("address"))
		}
		return w.member(w.member(of, text("vars")), f.key)
	}
	if f.of == name("hostvars") {
		return w.member(w.member(w.from("hosts"), f.key), text("vars"))
	}
	if sort, of := statOf(f); of != nil {
		if sort == "" {
			return w.member(w.value(of), f.key)
		}
		return fn("eq", w.member(w.value(of), text("type")), strconv.Quote(sort))
	}
	if f.key == text("stdout_lines") {
		return fn("splitList", `"\n"`, w.member(w.value(f.of), text("stdout")))
	}
	return w.member(w.value(f.of), f.key)
}

var chain = regexp.MustCompile(`^[$.][A-Za-z0-9_.]*$|^\(.*\)$`)

func (w *texts) member(of string, key node) string {
	if s, ok := key.(text); ok && word.MatchString(string(s)) && chain.MatchString(of) {
		return of + "." + string(s)
	}
	return fn("index", of, w.value(key))
}

func (w *texts) binary(b binary) string {
	if theirs, ok := bare(b.b).(text); ok && (b.op == "==" || b.op == "!=") {
		of := lowered(bare(b.a))
		ours, _ := special(of)
		switch {
		case small[ours]:
			return fn(comparing[b.op], w.from(ours), strconv.Quote(value(ours, string(theirs))))
		case factName(of) == "architecture" && machines[string(theirs)] != "":
			return fn(comparing[b.op], w.from("facts.arch"), strconv.Quote(machines[string(theirs)]))
		}
	}
	a, c := w.value(b.a), w.value(b.b)
	if op, ok := comparing[b.op]; ok {
		if b.op == "==" || b.op == "!=" { // of two types it is an error here
			a, c = w.beside(b.a, b.b), w.beside(b.b, b.a)
		}
		return fn(op, a, c)
	}
	switch b.op {
	case "in":
		if isText(b.b, "") || isList(bare(b.b)) {
			return fn("has", a, c)
		}
		if f, ok := bare(b.b).(field); ok && f.of == name("groups") || b.b == name("group_names") {
			return fn("has", a, c)
		}
		if _, constant := bare(b.b).(text); constant {
			return fn("contains", a, c)
		}
		return w.fail("`in` is has ITEM LIST, contains PART TEXT or hasKey MAPPING KEY, as the case may be")
	case "+":
		if isList(bare(b.a)) || isList(bare(b.b)) {
			return fn("concat", a, c)
		}
		if isTextual(b.a) || isTextual(b.b) {
			return fn("print", a, c)
		}
		return fn("add", a, c)
	case "~":
		return fn("print", a, c)
	case "**":
		return w.fail("there is no power here")
	}
	return fn(map[string]string{"-": "sub", "*": "mul", "/": "divf", "//": "div", "%": "mod"}[b.op], a, c)
}

// beside prints one side of a comparison: beside a text it is one.
func (w *texts) beside(n, other node) string {
	if _, isText := bare(other).(text); !isText || isTextual(n) {
		return w.value(n)
	}
	if ours, _ := special(bare(n)); ours != "" {
		return w.value(n)
	}
	return fn("toString", w.value(n))
}

var comparing = map[string]string{"and": "and", "or": "or", "==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}

// isTextual tells whether a value is a text for certain.
func isTextual(n node) bool {
	switch t := bare(n).(type) {
	case text:
		return true
	case binary:
		return t.op == "~" || t.op == "+" && (isTextual(t.a) || isTextual(t.b))
	case filter:
		return slices.Contains([]string{"string", "lower", "upper", "join", "trim", "replace"}, t.name)
	}
	return false
}

// test prints `x is name(args)`.
func (w *texts) test(t test) string {
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
		e := &exprs{}
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

func (w *texts) defined(n node) string {
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
