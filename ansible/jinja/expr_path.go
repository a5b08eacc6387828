package jinja

import (
	"slices"
	"strconv"
	"strings"
)

// path prints a variable and its fields.
func (w *exprPrinter) path(n node) string {
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

func (w *exprPrinter) name(s string) string {
	switch s {
	case "hostvars":
		return w.fail("variables of hosts are hosts.NAME.vars")
	case "ansible_facts":
		return "facts"
	case "ansible_version", "role_path", "playbook_dir", "inventory_dir":
		return w.fail("there is no %s; %s", s, missingNames[s])
	}
	return s
}

// missingNames are variables of Ansible without an equivalent, with advice for each.
var missingNames = map[string]string{
	"ansible_version": "leave the condition out",
	"role_path":       "files and templates of a role are named without a directory",
	"playbook_dir":    "names of files are seen from the playbook",
	"inventory_dir":   "names of files are seen from the playbook",
}

func (w *exprPrinter) field(f field) string {
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

// hosts prints the entry of a host in the variable hosts.
func (w *exprPrinter) hosts(key node) string { return member("hosts", w, key) }

func member(of string, w *exprPrinter, key node) string {
	if s, ok := key.(text); ok && word.MatchString(string(s)) {
		return of + "." + string(s)
	}
	return of + "[" + w.value(key) + "]"
}
