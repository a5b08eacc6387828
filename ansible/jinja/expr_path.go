package jinja

import (
	"slices"
	"strconv"
)

// path prints a variable and its fields.
func (w *exprPrinter) path(n node) string {
	if w.isLocal(n) {
		return w.plainPath(n)
	}
	ours, err := special(n)
	if err != nil {
		return w.fail("%v", err)
	}
	if ours != "" {
		if differs := factDiffers[ours]; differs != "" {
			w.note("%s: %s", ours, differs)
		}
		return ours
	}
	switch factName(n) {
	case "architecture":
		return `(facts.arch == "amd64" ? "x86_64" : facts.arch == "arm64" ? "aarch64" : facts.arch)`
	case "hostname":
		return `split(facts.hostname, ".")[0]`
	case "distribution_major_version":
		return `split(facts.os_version, ".")[0]`
	case "memtotal_mb":
		return "int(facts.memory_bytes / 1048576)"
	case "date_time":
		return w.fail("the only time there is facts.unix_time, in seconds")
	}
	return w.plainPath(n)
}

func (w *exprPrinter) plainPath(n node) string {
	switch t := n.(type) {
	case name:
		if w.isLocal(t) {
			return string(t)
		}
		return w.name(string(t))
	case field:
		if key, ok := t.key.(text); ok && t.of == name("loop") {
			return "loop_" + string(key) // the template gives it as a variable
		}
		return w.field(t)
	}
	return ""
}

func (w *exprPrinter) name(s string) string {
	switch s {
	case "omit":
		if w.template {
			return w.fail("omit leaves out an argument of a task; in a template, write the value, or put {%% if %%} around the line")
		}
	case "inventory_hostname_short":
		return `split(host.name, ".")[0]`
	case "ansible_managed":
		w.note("ansible_managed: the text is deployer's own")
		return strconv.Quote(managed)
	case "hostvars":
		return w.fail("variables of hosts are hosts.NAME.vars")
	case "ansible_facts":
		return "facts"
	case "ansible_version", "role_path", "playbook_dir", "inventory_dir", "ansible_play_hosts", "ansible_play_hosts_all", "ansible_play_batch", "play_hosts", "ansible_role_name", "role_name", "inventory_file", "ansible_loop", "ansible_search_path", "ansible_config_file":
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
	"inventory_file":  "name the file",

	"ansible_play_hosts":     "name the group of the play: groups.NAME",
	"ansible_play_hosts_all": "name the group of the play: groups.NAME",
	"ansible_play_batch":     "name the group of the play: groups.NAME",
	"play_hosts":             "name the group of the play: groups.NAME",
	"ansible_role_name":      "write the name of the role",
	"role_name":              "write the name of the role",
	"ansible_loop":           "a loop has no number of its item",
	"ansible_search_path":    "name the file",
	"ansible_config_file":    "settings are options of the command",
}

func (w *exprPrinter) field(f field) string {
	if note := groupNote(f); note != "" {
		w.note("%s", note)
	}
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
