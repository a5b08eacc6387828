// Package convert does the mechanical part of moving a playbook or role of Ansible:
// names of modules and keywords, Jinja in conditions, loops, texts and template
// files. It edits the text where something is to be changed and leaves all else,
// comments and blank lines too, as it is. What it cannot do is listed, here or by
// the compiler of playbooks.
package convert

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"deployer/ansible/jinja"
)

// Words are what a playbook may say here.
type Words struct {
	// Modules are the names of all modules.
	Modules []string
	// Renamed maps names of Ansible to what is called so here.
	Renamed map[string]string
}

// Note is something that is left to do by hand.
type Note struct {
	Line, Col int
	Text      string
}

func (n Note) String() string { return fmt.Sprintf("%d:%d: %s", n.Line, n.Col, n.Text) }

// kind is what a file is.
type kind int

const (
	other kind = iota
	plays
	tasks
	vars
	templated
)

// File translates a file, whose name says what it is: as it is to be called, with
// its text. What needs no translation comes back as it was.
func (w *Words) File(name string, data []byte) (newName string, out []byte, notes []Note, err error) {
	switch k := kindOf(name); k {
	case templated:
		text, problems := jinja.Text(string(data))
		for _, p := range problems {
			notes = append(notes, Note{p.Line, 1, p.Error()})
		}
		return strings.TrimSuffix(name, ".j2") + ".tmpl", []byte(text), notes, nil
	case other:
		return name, data, nil, nil
	default:
		out, notes, err = w.yaml(k, data)
		return name, out, notes, err
	}
}

// kindOf goes by where files of playbooks and roles stand. Files that roles bring
// to hosts are nobody's to change.
func kindOf(name string) kind {
	dirs := strings.Split(path.Dir(name), "/")
	in := func(dir string) bool { return slices.Contains(dirs, dir) }
	yaml := path.Ext(name) == ".yml" || path.Ext(name) == ".yaml"
	switch {
	case in("files") || in("molecule") || strings.HasPrefix(path.Base(name), "."):
		return other
	case path.Ext(name) == ".j2":
		return templated
	case !yaml:
		return other
	case in("tasks") || in("handlers"):
		return tasks
	case in("defaults") || in("vars") || in("group_vars") || in("host_vars"):
		return vars
	case in("meta"):
		return other
	}
	return plays
}
