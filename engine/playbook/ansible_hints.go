package playbook

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// Words of Ansible that are not words here, and what to do instead. Those of
// modules come with the library (Library.Renamed).
var (
	ansiblePlayKeywords = map[string]string{
		"remote_user":        "the login name is ssh.user of the inventory",
		"port":               "the port is ssh.port of the inventory",
		"connection":         "hosts are reached over SSH; for the machine that deployer runs on there is delegate_to: localhost",
		"become_method":      "how users become root is ssh.become of the inventory: sudo, doas or su",
		"become_flags":       "how users become root is ssh.become of the inventory",
		"become_exe":         "how users become root is ssh.become of the inventory",
		"ignore_unreachable": "say how many hosts you can spare: max_fail: {web: 10%}",
		"module_defaults":    "say it at the tasks; a YAML anchor keeps it in one place",
		"collections":        "modules have no collections here; leave it out",
		"no_log":             "secret: true at the tasks",
		"check_mode":         "a whole run is a dry one with --check; run.check tells tasks",
		"diff":               "--diff shows how files differ; secret: true at a task hides it",
		"order":              "hosts go in the order of the inventory",
		"gather_subset":      "the module facts, with gather",
		"gather_timeout":     "facts come with the first connection; leave it out",
		"fact_path":          "facts come with the first connection; leave it out",
		"debugger":           "--step asks before each task",
		"throttle":           "throttle at tasks and blocks, or forks",
		"run_once":           "run_once at the tasks",
	}
	ansibleTaskKeywords = map[string]string{
		"args":               "the arguments stand below the module: shell: {cmd: ..., creates: ...}",
		"action":             "the module is a key of the task",
		"async":              "a task may take its time, and other hosts do not wait for it: timeout: 10m bounds it; what is to go on afterwards (poll: 0) is a unit",
		"poll":               "a task may take its time: timeout bounds it, and other hosts do not wait for it",
		"any_errors_fatal":   "any_errors_fatal of the play, or max_fail",
		"delegate_facts":     "facts are those of the play's host; gather those of another one in a play for it",
		"ignore_unreachable": ansiblePlayKeywords["ignore_unreachable"],
		"check_mode":         "a command that only looks says so, as in command: {cmd: ..., read_only: true}, and is run in dry runs too; run.check tells tasks whether this is one",
		"diff":               "secret: true hides a diff",
		"connection":         "for the machine that deployer runs on there is delegate_to: localhost",
		"remote_user":        ansiblePlayKeywords["remote_user"],
		"port":               ansiblePlayKeywords["port"],
		"become_method":      ansiblePlayKeywords["become_method"],
		"become_flags":       ansiblePlayKeywords["become_flags"],
		"become_exe":         ansiblePlayKeywords["become_exe"],
		"module_defaults":    ansiblePlayKeywords["module_defaults"],
		"collections":        ansiblePlayKeywords["collections"],
		"debugger":           ansiblePlayKeywords["debugger"],
		"with_dict":          "loop: toPairs(NAME); then item[0] is the key and item[1] the value",
		"with_fileglob":      "name the files in a list, or copy a directory",
		"with_file":          "a template that includes them, or copy",
		"with_first_found":   "at include_vars a list of names: include_vars: [A, B]; else a name with a variable in it, such as {{ facts.os }}.conf",
		"with_indexed_items": "loop, with loop_control: {index_var: NAME}",
		"with_lines":         "run the command in a task of its own, and loop over splitted lines: split(r.stdout, \"\\n\")",
		"with_nested":        "include_tasks with a loop, which has the task with the other loop",
		"with_random_choice": "loop over a list",
		"with_sequence":      "loop over a range: loop: 1..10",
		"with_subelements":   "loop: flatten(map(NAME, .LIST))",
		"with_together":      "loop over a list of mappings",
		"group_by":           "a condition, such as when: facts.os == \"debian\", or a group of the inventory",
		"add_host":           "hosts stand in the inventory",
		"ping":               "deployer exec PATTERN -- true, or a task that does something: who cannot be reached is said anyhow",
	}
	ansibleMetaActions = map[string]string{
		"noop":              "leave it out",
		"refresh_inventory": "the inventory is read once; leave it out",
		"clear_facts":       "facts are those of this run; leave it out",
		"clear_host_errors": "hosts that are lost stay so for the run; say how many you can spare with max_fail",
		"reset_connection":  "connections are kept and made anew by themselves; leave it out",
		"end_batch":         "meta: end_host: each host for which its condition holds leaves the play",
		"end_role":          "put what follows into a block with the opposite condition",
	}
)

// rejectAnsibleKeys reports keys that are words of Ansible, and returns the mapping without
// them.
func (c *compiler) rejectAnsibleKeys(d *document, n *yaml.Node, what string, words map[string]string) *yaml.Node {
	out := *n
	out.Content = nil
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if advice, ok := words[n.Content[i].Value]; ok {
			c.fail(d.at(n.Content[i]).Errorf("unknown key %q in %s: %s", n.Content[i].Value, what, advice))
			continue
		}
		out.Content = append(out.Content, n.Content[i], n.Content[i+1])
	}
	if n.Kind != yaml.MappingNode {
		return n
	}
	return &out
}

// shortIncludeForm takes the long forms `include_role: {name: x}` and `include_tasks:
// {file: x}` for the short ones.
func (c *compiler) shortIncludeForm(d *document, key, value *yaml.Node) *yaml.Node {
	name, ok := map[string]string{"include_role": "name", "include_tasks": "file", "include_vars": "file"}[key.Value]
	if !ok || value.Kind != yaml.MappingNode {
		return value
	}
	short := value
	for i := 0; i+1 < len(value.Content); i += 2 {
		if value.Content[i].Value == name {
			short = value.Content[i+1]
			continue
		}
		c.fail(d.at(value.Content[i]).Errorf("%s takes no %s: write %[1]s: NAME, with vars, when and tags beside it", key.Value, value.Content[i].Value))
	}
	return short
}

// ansibleNames are variables that are called otherwise here.
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

// jinjaForms are forms of Jinja that conditions and loops do not have.
var jinjaForms = []struct {
	form   *regexp.Regexp
	advice string
}{
	{regexp.MustCompile(`\bis\s+(not\s+)?(defined|undefined)\b`), `write "NAME" in $env, or NAME ?? DEFAULT`},
	{regexp.MustCompile(`\bis\s+(not\s+)?(succeeded|success|failed|changed|skipped)\b`), `a result has fields: NAME.failed, NAME.changed, NAME.skipped`},
	{regexp.MustCompile(`\bis\s+(not\s+)?(match|search|regex)\b`), `write NAME matches "PATTERN"`},
	{regexp.MustCompile(`\bis\s+(not\s+)?(none|null)\b`), `write NAME == nil`},
	{regexp.MustCompile(`\bis\s+(not\s+)?(version|version_compare)\b`), `write versionCompare(NAME, "1.2") >= 0`},
	{regexp.MustCompile(`\bif\b.*\belse\b`), `write CONDITION ? A : B`},
}

// jinjaFormAdvice is the advice for an expression that cannot be read; empty when there is
// none.
func jinjaFormAdvice(src string) string {
	for _, h := range jinjaForms {
		if h.form.MatchString(src) {
			return "; " + h.advice
		}
	}
	return ""
}

// containsAdvice is what an expression says where `in` looks for a text in a text.
func containsAdvice(message string) string {
	if strings.Contains(message, `operator "in" not defined`) || strings.Contains(message, "invalid operation: in (mismatched types string") {
		return `; whether a text is in another one: A contains B`
	}
	return ""
}
