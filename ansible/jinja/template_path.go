package jinja

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// root prints the value that holds the host's variables.
func (w *templatePrinter) root() string {
	if w.deep {
		return "$"
	}
	return "."
}

// from prints a variable of the host, with the fields behind it. Its name alone means the
// variable in loops, too.
func (w *templatePrinter) from(path string) string {
	if name, _, _ := strings.Cut(path, "."); !w.needsDot(name) {
		return path
	}
	return strings.TrimSuffix(w.root(), ".") + "." + path
}

func (w *templatePrinter) path(n node) string {
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
		return w.fail("variables of hosts are hosts.NAME.vars")
	case s == "ansible_managed":
		return strconv.Quote(managed)
	case s == "omit":
		return w.fail("omit leaves out an argument of a task; in a template, write the value, or put {%% if %%} around the line")
	case missingNames[s] != "":
		return w.fail("there is no %s; %s", s, missingNames[s])
	}
	return w.from(s)
}

// inLoop prints a field of the variable loop.
func (w *templatePrinter) inLoop(key string) string {
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

func (w *templatePrinter) field(f field) string {
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

// chain matches a value that a field can follow with a dot.
var chain = regexp.MustCompile(`^[$.A-Za-z_][A-Za-z0-9_.]*$|^\(.*\)$`)

func (w *templatePrinter) member(of string, key node) string {
	if s, ok := key.(text); ok && word.MatchString(string(s)) && chain.MatchString(of) {
		return of + "." + string(s)
	}
	return fn("index", of, w.value(key))
}
