package jinja

import (
	"regexp"
	"strings"

	"deployer/engine/lang"
)

// renamed are words of Jinja that are written otherwise here.
var (
	renamed = regexp.MustCompile(`\b(True|False|None|none)\b`)
	quoted  = regexp.MustCompile(`'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"`)
)

// means reports whether an expression means the same here as it is written.
func means(n node) bool {
	switch t := n.(type) {
	case nil, text, literal:
		return true
	case grouped:
		return means(t.x)
	case name, field:
		return meansPath(n)
	case slice:
		return means(t.of) && means(t.from) && means(t.to)
	case list:
		return meansAll(t)
	case dict:
		for _, p := range t {
			if _, constant := p.key.(text); !constant || !means(p.value) {
				return false
			}
		}
		return true
	case unary:
		_, compared := t.x.(binary)
		return !compared && means(t.x)
	case binary:
		return meansBinary(t)
	case filter:
		return lang.HasFilter(t.name) && means(t.of) && meansArguments(t.args)
	case call:
		return t.of == nil && isLookup(t) && meansArguments(t.args)
	}
	return false
}

func meansAll(nodes []node) bool {
	for _, n := range nodes {
		if !means(n) {
			return false
		}
	}
	return true
}

func meansArguments(a arguments) bool {
	for _, n := range a.named {
		if !means(n) {
			return false
		}
	}
	return meansAll(a.list)
}

func meansBinary(b binary) bool {
	switch b.op {
	case "+":
		return !isList(b.a) && !isList(b.b) && means(b.a) && means(b.b)
	case "-", "*", "/", "%", "**", "==", "!=", "<", "<=", ">", ">=":
		return means(b.a) && means(b.b)
	}
	return false
}

// meansPath: facts, other hosts and results have other names here.
func meansPath(n node) bool {
	if f, ok := n.(field); ok {
		switch key := f.key.(type) {
		case text:
			if key == "stdout_lines" || key == "stderr_lines" || key == "stat" {
				return false
			}
		case literal:
			return false // maybe a.0
		default:
			if !means(f.key) {
				return false
			}
		}
		return means(f.of)
	}
	s := string(n.(name)) //nolint:forcetypeassert // path is called with these two
	if ours, err := special(n); ours != "" || err != nil {
		return false
	}
	return s == "omit" || !strings.HasPrefix(s, "ansible_") && s != "hostvars" && s != "loop" && nothing[s] == ""
}

// isLookup reports whether a call is one of a lookup that exists here.
func isLookup(c call) bool {
	if c.name != "lookup" && c.name != "query" && c.name != "q" {
		return false
	}
	what, _ := c.args.at(0, "").(text)
	switch what[strings.LastIndexByte(string(what), '.')+1:] {
	case "file", "env", "password", "template":
		return true
	}
	return false
}
