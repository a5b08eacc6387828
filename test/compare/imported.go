package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"deployer/ansible/importer"
	"deployer/inventory"
)

// rolesOf are the names here of Kubespray's groups.
var rolesOf = map[string]string{
	"kube_control_plane": inventory.Master, "kube-master": inventory.Master,
	"kube_node": inventory.Minion, "kube-node": inventory.Minion,
	"etcd": inventory.Etcd, "k8s_cluster": "node", "k8s-cluster": "node",
}

// imported returns the hosts, groups and variables of an inventory under Ansible's names.
func imported(inv *inventory.Inventory, result *importer.Result) Answer {
	a := Answer{}
	names := map[string]string{} // in Ansible, by those here
	for theirs, ours := range result.Hosts {
		names[ours] = theirs
		a["host "+theirs] = ours
		h, _ := inv.Host(ours)
		maps.Copy(a, ownLogin(theirs, h))
		for name, v := range h.Vars {
			a["var "+theirs+" "+name] = v
		}
	}
	table := inv.Table()
	for theirs, ours := range rolesOf {
		if _, isGroup := result.Groups[theirs]; result.Kubespray && !isGroup && hasNote(result, "group "+theirs) {
			a.addGroup(theirs, table[ours], names)
		}
	}
	for theirs, ours := range result.Groups {
		if a.addGroup(theirs, table[ours], names); len(table[ours]) > 0 {
			a["groupname "+theirs] = ours
		}
	}
	a.addGroup("ungrouped", table["ungrouped"], names)
	return a
}

// addGroup adds the hosts of a group under their names in Ansible. Like ansible-inventory,
// it leaves out groups without hosts.
func (a Answer) addGroup(group string, hosts []string, names map[string]string) {
	var out []string
	for _, h := range hosts {
		out = append(out, names[h])
	}
	if out != nil {
		a["group "+group] = sorted(out)
	}
}

func hasNote(result *importer.Result, what string) bool {
	return slices.ContainsFunc(result.Notes, func(n importer.Note) bool { return n.What == what })
}

// sameTemplate reports whether a text of the inventory is the translation of a text with
// Jinja.
func sameTemplate(theirs, ours any) bool {
	text, ok := theirs.(string)
	if !ok || !strings.Contains(text, "{{") && !strings.Contains(text, "{%") && !strings.Contains(text, "{#") {
		return false
	}
	translated, err := translateJinja(text)
	return err == nil && translated == ours
}

// isListed reports whether a note names the difference at a key: the variable, at a line
// of the source that has it, or the host or group.
func isListed(path string, result *importer.Result, key string, theirs, ours any) bool {
	fields := strings.Fields(key)
	kind, subject, name := fields[0], fields[1], fields[len(fields)-1]
	if kind == "var" && result.Kubespray && importer.IsConverted(name) {
		return true
	}
	word := regexp.MustCompile(`(^|[^A-Za-z0-9_])` + regexp.QuoteMeta(name) + `($|[^A-Za-z0-9_])`)
	for _, n := range result.Notes {
		switch kind {
		case "var", "login":
			if word.MatchString(n.What) && hasWord(path, n.At, word) && explains(n.Why, theirs, ours) || n.What == "host "+subject && strings.Contains(n.Why, "left out") {
				return true
			}
		case "host", "group":
			if n.What == kind+" "+subject {
				return true
			}
		case "groupname":
			if n.What == "group "+subject {
				return true
			}
		}
	}
	return false
}

// explains reports whether the reason of a note fits a difference: numbers that have
// another type here, a mark, or a value that was left out.
func explains(why string, theirs, ours any) bool {
	switch {
	case ours == nil && theirs != nil:
		return true
	case reflect.DeepEqual(canonical(numbersHere(theirs)), canonical(ours)):
		return strings.Contains(why, "whole number") || strings.Contains(why, "64 bits")
	}
	return strings.Contains(why, "!secret") || strings.Contains(why, "!unsafe") || strings.Contains(why, "is unset in Ansible")
}

// numbersHere converts the numbers of Ansible's answer to what variables can hold: floats
// without a fraction are whole numbers, and whole numbers beyond 64 bits are texts.
func numbersHere(v any) any {
	switch t := v.(type) {
	case json.Number:
		if _, err := t.Int64(); err == nil {
			return t
		}
		if f, err := t.Float64(); err == nil && strings.ContainsAny(t.String(), ".eE") {
			if f == math.Trunc(f) {
				return int64(f)
			}
			return t
		}
		return t.String()
	case []any:
		out := make([]any, len(t))
		for i, e := range t {
			out[i] = numbersHere(e)
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range t {
			out[k] = numbersHere(e)
		}
		return out
	}
	return v
}

// hasWord reports whether the place of a note, FILE:LINE beside the inventory, has a word.
func hasWord(inventory, at string, word *regexp.Regexp) bool {
	name, number, ok := strings.Cut(at, ":")
	if !ok {
		return strings.HasSuffix(at, ".json") // the output of ansible-inventory has one line
	}
	if info, err := os.Stat(inventory); err != nil || !info.IsDir() {
		inventory = filepath.Dir(inventory)
	}
	data, err := os.ReadFile(filepath.Join(inventory, name))
	if err != nil {
		return false
	}
	line, err := strconv.Atoi(number)
	lines := strings.Split(string(data), "\n")
	return err == nil && line > 0 && line <= len(lines) && word.MatchString(lines[line-1])
}

// ownLogin returns the login of a host under Ansible's names.
func ownLogin(name string, h inventory.Host) Answer {
	port := h.SSH.Port
	if port == 0 {
		port = 22
	}
	prefix := "login " + name + " "
	return Answer{
		prefix + "ansible_host":                 h.Address,
		prefix + "ansible_port":                 fmt.Sprint(port),
		prefix + "ansible_user":                 h.SSH.User,
		prefix + "ansible_ssh_private_key_file": h.SSH.Key,
		prefix + "ansible_become":               h.SSH.Become,
	}
}
