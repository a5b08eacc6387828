package lang

// ansibleNames are variables and constants of Ansible that have another name here.
var ansibleNames = map[string]string{
	"inventory_hostname":           "host.name",
	"inventory_hostname_short":     "host.name",
	"ansible_host":                 "host.address",
	"ansible_hostname":             "facts.hostname",
	"ansible_nodename":             "facts.hostname",
	"hostvars":                     "hosts: hosts.NAME.vars, hosts.NAME.address",
	"group_names":                  "host.groups",
	"play_hosts":                   "groups.all, or the group of the play",
	"ansible_play_hosts":           "groups.all, or the group of the play",
	"ansible_play_batch":           "groups.all, or the group of the play",
	"ansible_facts":                "facts: facts.os, facts.arch, facts.memory_bytes",
	"ansible_os_family":            "facts.os_family, in small letters",
	"ansible_distribution":         "facts.os, in small letters",
	"ansible_distribution_version": "facts.os_version",
	"ansible_distribution_release": "facts.os_codename",
	"ansible_architecture":         "facts.arch: amd64 or arm64",
	"ansible_kernel":               "facts.kernel",
	"ansible_processor_vcpus":      "facts.cpus",
	"ansible_memtotal_mb":          "facts.memory_bytes",
	"ansible_default_ipv4":         "facts.default_ip and facts.default_iface",
	"ansible_all_ipv4_addresses":   "facts.addresses",
	"ansible_pkg_mgr":              "facts.package_manager",
	"ansible_service_mgr":          "facts.init",
	"ansible_virtualization_type":  "facts.virtualization",
	"ansible_check_mode":           "run.check",
	"ansible_date_time":            "facts.unix_time",
	"distribution":                 "facts.os",
	"default_ipv4":                 "facts.default_ip",
	"omit":                         "omit, in texts: {{ item.shell | default(omit) }}",
	"True":                         "true",
	"False":                        "false",
	"None":                         "nil",
	"none":                         "nil",
}

// AnsibleName returns what deployer calls a variable or constant of Ansible.
func AnsibleName(name string) (ours string, known bool) {
	ours, known = ansibleNames[name]
	return ours, known
}
