package jinja

import (
	"fmt"
	"regexp"
	"strings"
)

// plain are variables of Ansible that are called otherwise here, as paths.
var plain = map[string]string{
	"inventory_hostname": "host.name", "inventory_hostname_short": "host.name", "ansible_host": "host.address",
	"ansible_ssh_host": "host.address", "group_names": "host.groups", "ansible_check_mode": "run.check",
	"ansible_play_hosts": "groups.all", "ansible_play_hosts_all": "groups.all", "ansible_play_batch": "groups.all", "play_hosts": "groups.all",
}

// factsOf are facts by what Ansible calls them, without ansible_.
var factsOf = map[string]string{
	"os_family": "facts.os_family", "distribution": "facts.os", "distribution_version": "facts.os_version",
	"distribution_release": "facts.os_codename", "lsb.codename": "facts.os_codename", "lsb.id": "facts.os", "hostname": "facts.hostname",
	"nodename": "facts.hostname", "kernel": "facts.kernel", "processor_vcpus": "facts.cpus", "processor_count": "facts.cpus",
	"processor_nproc": "facts.cpus", "default_ipv4.address": "facts.default_ip", "default_ipv4.interface": "facts.default_iface",
	"all_ipv4_addresses": "facts.addresses", "pkg_mgr": "facts.package_manager", "service_mgr": "facts.init",
	"virtualization_type": "facts.virtualization", "machine_id": "facts.machine_id",
	"date_time.epoch": "facts.unix_time",
}

// small are facts whose values are in small letters here, where Ansible has names
// of distributions.
var small = map[string]bool{"facts.os": true, "facts.os_family": true, "facts.package_manager": true}

// systems are values that are not just those of Ansible in small letters.
var systems = map[string]string{
	"redhat": "rhel", "oraclelinux": "ol", "amazon": "amzn", "archlinux": "arch", "opensuse leap": "opensuse-leap",
	"opensuse tumbleweed": "opensuse-tumbleweed", "linux mint": "linuxmint",
}

// value is what a name of a distribution or family of Ansible is here.
func value(fact, theirs string) string {
	s := strings.ToLower(theirs)
	if ours, ok := systems[s]; ok && fact == "facts.os" {
		return ours
	}
	if fact == "facts.os_family" && s == "archlinux" {
		return "arch"
	}
	return s
}

// word is a name that can stand after a dot.
var word = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// path gives the parts of a.b['c']; false for anything else.
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

// special is a fact or another name of Ansible that is a path here; "" for what
// is none, and an error for facts that do not exist here.
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
	case "architecture", "distribution_major_version", "memtotal_mb", "date_time", "version", "facts", "managed":
		return "", nil // the printers know
	}
	for known := range factsOf {
		if strings.HasPrefix(known, fact+".") {
			return "", fmt.Errorf("%s: the facts are facts.default_ip, facts.default_iface, facts.addresses, facts.os_codename, facts.selinux", strings.Join(parts, "."))
		}
	}
	return "", fmt.Errorf("there is no %s: see `deployer facts HOST`, and the module facts for more", strings.Join(parts, "."))
}

// of takes a fact apart that is not a path here: its name without ansible_.
func factName(n node) string {
	parts, ok := path(n)
	switch {
	case !ok:
		return ""
	case parts[0] == "ansible_facts" && len(parts) == 2:
		return strings.TrimPrefix(parts[1], "ansible_")
	case len(parts) == 1:
		if s, ok := strings.CutPrefix(parts[0], "ansible_"); ok {
			return s
		}
	}
	return ""
}

// machines are the names of architectures.
var machines = map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}

// statOf takes what a task stat has found: the fields stand in the result itself
// here, and what sort of file it is in one of them. of is nil for anything else.
func statOf(f field) (sort string, of node) {
	inner, ok := f.of.(field)
	if !ok || inner.key != text("stat") {
		return "", nil
	}
	key, _ := f.key.(text)
	switch key {
	case "exists", "mode", "size", "checksum", "uid", "gid":
		return "", inner.of
	case "isdir":
		return "directory", inner.of
	case "isreg":
		return "file", inner.of
	case "islnk":
		return "link", inner.of
	}
	return "", nil
}
