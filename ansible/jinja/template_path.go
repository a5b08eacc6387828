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
	if name, _, _ := strings.Cut(path, "."); !w.dotted(name) {
		return path
	}
	return strings.TrimSuffix(w.root(), ".") + "." + path
}

func (w *templatePrinter) path(n node) string {
	if w.isLocal(n) {
		return w.plainPath(n)
	}
	ours, err := special(n)
	switch {
	case err != nil:
		return w.fail("%v", err)
	case ours != "":
		if differs := factDiffers[ours]; differs != "" {
			w.note("%s: %s", ours, differs)
		}
		return w.from(ours)
	case factName(n) == "distribution_major_version":
		return fn("index", fn("splitList", `"."`, w.from("facts.os_version")), "0")
	case factName(n) == "memtotal_mb":
		return fn("div", w.from("facts.memory_bytes"), "1048576")
	case factName(n) != "" && factName(n) != "managed":
		return w.expr(n)
	}
	return w.plainPath(n)
}

func (w *templatePrinter) plainPath(n node) string {
	if f, ok := n.(field); ok {
		return w.field(f)
	}
	s := string(n.(name)) //nolint:forcetypeassert // the callers pass a name or field
	switch {
	case slices.Contains(w.locals, s):
		return "$" + s
	case s == "hostvars", s == "inventory_hostname_short", s == "ansible_managed", s == "omit", missingNames[s] != "":
		return w.expr(n)
	case s == "loop":
		return w.fail("loop stands for no value here")
	}
	return w.from(s)
}

// inLoop prints a field of the variable loop.
func (w *templatePrinter) inLoop(key string) string {
	if w.index == "" {
		return w.fail("there is no loop.%s in this loop", key)
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
	if note := groupNote(f); note != "" {
		w.note("%s", note)
	}
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
	switch f.key.(type) {
	case literal, unary:
		if _, constant := f.key.(literal); !constant || w.kindOf(f.of) != KindList {
			return w.expr(f) // index gives a byte of a text
		}
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
