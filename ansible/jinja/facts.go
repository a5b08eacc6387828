package jinja

import "strings"

// factsOf maps names of Ansible's facts, without ansible_, to paths in deployer.
var factsOf = map[string]string{
	"os_family": "facts.os_family", "distribution": "facts.os", "distribution_version": "facts.os_version",
	"distribution_release": "facts.os_codename", "lsb.codename": "facts.os_codename", "lsb.id": "facts.os",
	"nodename": "facts.hostname", "kernel": "facts.kernel", "processor_vcpus": "facts.cpus",
	"processor_nproc": "facts.cpus", "default_ipv4.address": "facts.default_ip", "default_ipv4.interface": "facts.default_iface",
	"all_ipv4_addresses": "facts.addresses", "pkg_mgr": "facts.package_manager", "service_mgr": "facts.init",
	"virtualization_type": "facts.virtualization", "machine_id": "facts.machine_id",
	"date_time.epoch": "facts.unix_time",
}

// factDiffers describes how the value of a fact differs from Ansible's, by its name in
// deployer.
var factDiffers = map[string]string{
	"facts.os":             "debian where Ansible has Debian, rhel where it has RedHat",
	"facts.os_family":      "debian where Ansible has Debian",
	"facts.os_version":     "12 where Ansible has 12.5, on Debian",
	"facts.virtualization": "the names are those of systemd-detect-virt",
	"facts.addresses":      "addresses of IPv6 are among them",
}

// lowerCase are the facts with values in lower case, where Ansible writes names of
// distributions with capitals.
var lowerCase = map[string]bool{"facts.os": true, "facts.os_family": true, "facts.package_manager": true}

// systems are the distributions with an ID in /etc/os-release that is not Ansible's name
// in lower case.
var systems = map[string]string{
	"redhat": "rhel", "oraclelinux": "ol", "amazon": "amzn", "archlinux": "arch", "opensuse leap": "opensuse-leap",
	"opensuse tumbleweed": "opensuse-tumbleweed", "linux mint": "linuxmint",
}

// distributionName returns the value of a fact for Ansible's name of a distribution or
// family.
func distributionName(fact, theirs string) string {
	s := strings.ToLower(theirs)
	if ours, ok := systems[s]; ok && fact == "facts.os" {
		return ours
	}
	if fact == "facts.os_family" && s == "archlinux" {
		return "arch"
	}
	return s
}

// factName returns the name, without ansible_, of a fact that is not a plain path in
// deployer; otherwise an empty text.
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

// machines maps names of architectures to the values of facts.arch.
var machines = map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}

// statOf recognizes a field of a result of stat. In deployer the fields stand in the
// result itself, and the file type in its field type: sort is then directory, file or
// link. of is the result; nil for any other field.
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
