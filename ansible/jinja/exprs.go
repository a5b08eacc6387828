package jinja

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// exprs prints expressions of expr. The first thing that cannot be said is err.
type exprs struct{ err error }

func (w *exprs) fail(format string, args ...any) string {
	if w.err == nil {
		w.err = fail(format, args...)
	}
	return ""
}

// truth prints a condition: what Jinja takes for true without being it, a list
// that is not empty, is compared.
func (w *exprs) truth(n node) string {
	switch t := n.(type) {
	case grouped:
		return "(" + w.truth(t.x) + ")"
	case unary:
		if t.op == "not" {
			return w.not(t.x)
		}
	case binary:
		if op, ok := map[string]string{"and": " && ", "or": " || "}[t.op]; ok {
			return w.side(t.a, t.op) + op + w.side(t.b, t.op)
		}
	case filter:
		switch t.name {
		case "length", "count":
			return w.value(t) + " > 0"
		case "bool":
			return w.truth(t.of)
		case "default", "d":
			if fallback := t.args.at(0, "default_value"); isText(fallback, "") || isList(fallback) {
				return "len(" + w.value(t) + ") > 0"
			}
		}
	case field:
		if t.key == text("stdout") || t.key == text("stderr") {
			return w.value(t) + ` != ""`
		}
	case choice:
		return w.tight(t.cond) + " ? " + w.truth(t.then) + " : " + w.truth(t.other)
	}
	return w.value(n)
}

// side is a part of a conjunction: one of the other sort stands in parentheses.
func (w *exprs) side(n node, op string) string {
	out := w.truth(n)
	switch t := n.(type) {
	case binary:
		if (t.op == "and" || t.op == "or") && t.op != op {
			return "(" + out + ")"
		}
	case choice:
		return "(" + out + ")"
	}
	return out
}

func (w *exprs) not(n node) string {
	switch t := bare(n).(type) {
	case binary:
		if t.op == "in" {
			a, op, c := w.membership(t)
			if op == "contains" {
				return "!(" + a + " contains " + c + ")"
			}
			return a + " not in " + c
		}
	case test:
		if t.name == "in" {
			return w.not(binary{"in", t.of, t.args.at(0, "")})
		}
		if opposite, ok := map[string]string{"defined": "undefined", "undefined": "defined"}[t.name]; ok {
			return w.test(test{t.of, opposite, t.args})
		}
		if t.name == "none" || t.name == "null" {
			return w.tight(t.of) + " != nil"
		}
	case filter:
		if t.name == "length" || t.name == "count" {
			return w.value(t) + " == 0"
		}
	}
	if t, ok := bare(n).(test); ok {
		n = t
	}
	if f, ok := bare(n).(field); ok {
		n = f
	}
	out := w.truth(n)
	if _, atom := n.(grouped); atom || isAtom(out) {
		return "!" + out
	}
	return "!(" + out + ")"
}

// isAtom tells whether an expression binds as tightly as a name.
func isAtom(s string) bool {
	depth := 0
	for _, c := range unquoted(s) {
		switch {
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ' ' && depth == 0:
			return false
		}
	}
	return true
}

// unquoted goes through the bytes of what was printed, but for texts in quotes.
func unquoted(s string) iter.Seq2[int, byte] {
	return func(yield func(int, byte) bool) {
		quoted := false
		for i := 0; i < len(s); i++ {
			switch c := s[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case !quoted && !yield(i, c):
				return
			}
		}
	}
}

// tight prints a value as a part of a larger expression.
func (w *exprs) tight(n node) string {
	out := w.value(n)
	if isAtom(out) {
		return out
	}
	return "(" + out + ")"
}

func (w *exprs) value(n node) string {
	switch t := n.(type) {
	case nil:
		return "nil"
	case grouped:
		return "(" + w.value(t.x) + ")"
	case text:
		return strconv.Quote(string(t))
	case literal:
		return string(t)
	case name, field:
		return w.path(n)
	case slice:
		return w.slice(t)
	case list:
		return "[" + w.all(t) + "]"
	case dict:
		return w.dict(t)
	case unary:
		if t.op == "not" {
			return w.not(t.x)
		}
		return "-" + w.tight(t.x)
	case binary:
		return w.binary(t)
	case choice:
		cond := w.truth(t.cond)
		if !isAtom(cond) {
			cond = "(" + cond + ")"
		}
		return cond + " ? " + w.tight(t.then) + " : " + w.tight(t.other)
	case test:
		return w.test(t)
	case filter:
		return w.filter(t)
	case call:
		return w.call(t)
	}
	return w.fail("cannot be translated")
}

func (w *exprs) all(nodes []node) string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = w.value(n)
	}
	return strings.Join(out, ", ")
}

func (w *exprs) dict(d dict) string {
	out := make([]string, len(d))
	for i, p := range d {
		key := w.value(p.key)
		if _, constant := p.key.(text); !constant {
			key = "(" + key + ")"
		}
		out[i] = key + ": " + w.value(p.value)
	}
	return "{" + strings.Join(out, ", ") + "}"
}

func (w *exprs) slice(s slice) string {
	from, to := "", ""
	if s.from != nil {
		from = w.value(s.from)
	}
	if s.to != nil {
		to = w.value(s.to)
	}
	return w.tight(s.of) + "[" + from + ":" + to + "]"
}

// path prints a variable and its fields.
func (w *exprs) path(n node) string {
	ours, err := special(n)
	if err != nil {
		return w.fail("%v", err)
	}
	if ours != "" {
		return ours
	}
	switch factName(n) {
	case "architecture":
		return "facts.arch"
	case "distribution_major_version":
		return `split(facts.os_version, ".")[0]`
	case "memtotal_mb":
		return "int(facts.memory_bytes / 1048576)"
	case "date_time":
		return w.fail("the only time there is facts.unix_time, in seconds")
	}
	switch t := n.(type) {
	case name:
		return w.name(string(t))
	case field:
		return w.field(t)
	}
	return ""
}

func (w *exprs) name(s string) string {
	switch s {
	case "hostvars":
		return w.fail("variables of hosts are hosts.NAME.vars")
	case "ansible_facts":
		return "facts"
	case "ansible_version", "role_path", "playbook_dir", "inventory_dir":
		return w.fail("there is no %s; %s", s, nothing[s])
	}
	return s
}

// nothing is what to do about names that have no equivalent.
var nothing = map[string]string{
	"ansible_version": "leave the condition out",
	"role_path":       "files and templates of a role are named without a directory",
	"playbook_dir":    "names of files are seen from the playbook",
	"inventory_dir":   "names of files are seen from the playbook",
}

func (w *exprs) field(f field) string {
	if host, ok := f.of.(field); ok && host.of == name("hostvars") {
		of := w.hosts(host.key)
		if key, ok := f.key.(text); ok && slices.Contains([]string{"ansible_host", "ansible_ssh_host"}, string(key)) {
			return of + ".address"
		}
		return member(of+".vars", w, f.key)
	}
	if f.of == name("hostvars") {
		return w.hosts(f.key) + ".vars"
	}
	if sort, of := statOf(f); of != nil {
		if sort == "" {
			return member(w.tight(of), w, f.key)
		}
		return w.optional(field{of, text("type")}) + " == " + strconv.Quote(sort)
	}
	if f.key == text("stdout_lines") || f.key == text("stderr_lines") {
		return "split(" + w.tight(f.of) + "." + strings.TrimSuffix(string(f.key.(text)), "_lines") + `, "\n")`
	}
	return member(w.tight(f.of), w, f.key)
}

// hosts is what is known of a host.
func (w *exprs) hosts(key node) string { return member("hosts", w, key) }

func member(of string, w *exprs, key node) string {
	if s, ok := key.(text); ok && word.MatchString(string(s)) {
		return of + "." + string(s)
	}
	return of + "[" + w.value(key) + "]"
}

func isText(n node, s string) bool { return n == text(s) }

func isList(n node) bool {
	_, ok := n.(list)
	return ok
}
