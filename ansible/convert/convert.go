// Package convert translates the files of a playbook or role of Ansible: names of
// modules and keywords, Jinja in conditions, loops, texts and template files.
//
// The package edits the text in place where something changes and leaves the rest, comments and
// blank lines too, as it is. A part that it cannot translate becomes a [Note], or an
// error of the compiler of playbooks later.
package convert

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"deployer/ansible/jinja"
)

// Translator translates files; its fields are the words that deployer knows.
type Translator struct {
	// Modules are the names of all modules.
	Modules []string
	// Renamed maps Ansible's names of modules to deployer's.
	Renamed map[string]string
	// Expressions translates expressions, texts and template files.
	Expressions jinja.Translator
}

// Note describes a part that has to be translated by hand or, with Differs, a translation
// that does not do the same as Ansible.
type Note struct {
	Line, Col int
	Text      string
	Differs   bool
}

func (n Note) String() string {
	differs := ""
	if n.Differs {
		differs = "differs: "
	}
	return fmt.Sprintf("%d:%d: %s%s", n.Line, n.Col, differs, n.Text)
}

// kind is the kind of a file.
type kind int

const (
	other kind = iota
	plays
	tasks
	vars
	templated
)

// File translates a file. The path name decides about the kind of the file; newName is
// the path of the translation. A file that needs no translation comes back unchanged. File
// fails when a file of YAML cannot be parsed.
func (w *Translator) File(name string, data []byte) (newName string, out []byte, notes []Note, err error) {
	switch k := kindOf(name); k {
	case templated:
		text, problems := w.Expressions.Text(string(data))
		for _, p := range problems {
			notes = append(notes, Note{p.Line, 1, p.Error(), p.Differs})
		}
		return strings.TrimSuffix(name, ".j2") + ".tmpl", []byte(text), notes, nil
	case other:
		return name, data, nil, nil
	default:
		out, notes, err = w.yaml(k, data)
		return name, out, notes, err
	}
}

// Translates reports whether File translates files of this name.
func Translates(name string) bool { return kindOf(name) != other }

// kindOf derives the kind of a file from its place in a playbook or role. Files below
// files/ are content for hosts and stay unchanged.
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
	}
	for _, dir := range slices.Backward(dirs) { // the nearest decides
		switch dir {
		case "tasks", "handlers":
			return tasks
		case "defaults", "vars", "group_vars", "host_vars":
			return vars
		case "meta":
			return other
		}
	}
	return plays
}
