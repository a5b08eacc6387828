package jinja

import (
	"fmt"
	"regexp"
	"strings"
)

// plain maps variables of Ansible to paths in deployer.
var plain = map[string]string{
	"inventory_hostname": "host.name", "ansible_host": "host.address",
	"ansible_ssh_host": "host.address", "group_names": "host.groups", "ansible_check_mode": "run.check",
}

// word matches a name that can follow a dot.
var word = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// path returns the parts of a.b['c']; false for any other expression.
func path(n node) ([]string, bool) {
	switch t := n.(type) {
	case name:
		return []string{string(t)}, true
	case field:
		key, ok := t.key.(text)
		if !ok {
			return nil, false
		}
		of, ok := path(t.of)
		return append(of, string(key)), ok
	}
	return nil, false
}

// special returns the path in deployer of a fact or special variable of Ansible, an
// empty text for other expressions, and an error for facts that deployer does not have.
func special(n node) (string, error) {
	parts, ok := path(n)
	if !ok {
		return "", nil
	}
	if ours, ok := plain[parts[0]]; ok && len(parts) == 1 {
		return ours, nil
	}
	var fact string
	switch {
	case parts[0] == "ansible_facts" && len(parts) > 1:
		fact = strings.TrimPrefix(strings.Join(parts[1:], "."), "ansible_")
	case strings.HasPrefix(parts[0], "ansible_"):
		fact = strings.TrimPrefix(strings.Join(parts, "."), "ansible_")
	default:
		return "", nil
	}
	if ours, ok := factsOf[fact]; ok {
		return ours, nil
	}
	switch fact {
	case "architecture", "hostname", "distribution_major_version", "memtotal_mb", "date_time", "version", "facts", "managed",
		"play_hosts", "play_hosts_all", "play_batch", "role_name", "loop", "loop_var", "search_path", "config_file":
		return "", nil // the printers translate these
	}
	for known := range factsOf {
		if strings.HasPrefix(known, fact+".") {
			return "", fmt.Errorf("%s: the facts are facts.default_ip, facts.default_iface, facts.addresses, facts.os_codename, facts.selinux", strings.Join(parts, "."))
		}
	}
	return "", fmt.Errorf("there is no %s: see `deployer facts HOST`, and the module facts for more", strings.Join(parts, "."))
}

// IsVariable reports whether a name is a variable of the user, and neither a fact nor a
// variable of Ansible itself.
func IsVariable(s string) bool {
	ours, err := special(name(s))
	switch s {
	case "groups", "hostvars", "inventory_hostname_short", "omit", "environment", "vars":
		return false
	}
	return ours == "" && err == nil && factName(name(s)) == "" && missingNames[s] == ""
}
