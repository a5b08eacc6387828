package compile

import (
	"gopkg.in/yaml.v3"

	"deployer/engine/lang"
)

// Keywords of Ansible that do not exist here, with the alternative. Modules are in
// Compiler.Renamed.
var (
	ansiblePlayKeywords = map[string]string{
		"remote_user":        "the login name is ssh.user of the inventory",
		"port":               "the port is ssh.port of the inventory",
		"connection":         "hosts are reached over SSH; for the machine that deployer runs on there is delegate_to: localhost",
		"become_method":      "how users become root is ssh.become of the inventory: sudo, doas or su",
		"become_flags":       "how users become root is ssh.become of the inventory",
		"become_exe":         "how users become root is ssh.become of the inventory",
		"ignore_unreachable": "use max_fail: {web: 10%}",
		"module_defaults":    "set it at the tasks; a YAML anchor avoids repetition",
		"collections":        "modules have no collections; leave it out",
		"no_log":             "secret: true at the tasks",
		"check_mode":         "use --check for the whole run; run.check is true in a dry run",
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
		"async":              "use timeout: 10m; other hosts do not wait for the task. For a process that keeps running (poll: 0) use a unit",
		"poll":               "use timeout; other hosts do not wait for the task",
		"any_errors_fatal":   "any_errors_fatal of the play, or max_fail",
		"delegate_facts":     "facts belong to the host of the play; gather those of another host in a play for it",
		"ignore_unreachable": ansiblePlayKeywords["ignore_unreachable"],
		"check_mode":         "use command: {cmd: ..., read_only: true} for a command that only reads; it runs in dry runs, too. run.check is true in a dry run",
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
		"with_lines":         "run the command in a task of its own, and loop over the lines: split(r.stdout, \"\\n\")",
		"with_nested":        "include_tasks with a loop, which has the task with the other loop",
		"with_random_choice": "loop over a list",
		"with_sequence":      "loop over a range: loop: 1..10",
		"with_subelements":   "loop: flatten(map(NAME, .LIST))",
		"with_together":      "loop over a list of mappings",
		"group_by":           "a condition, such as when: facts.os == \"debian\", or a group of the inventory",
		"add_host":           "hosts stand in the inventory",
		"ping":               "use deployer exec PATTERN -- true; every run reports unreachable hosts",
	}
	ansibleMetaActions = map[string]string{
		"noop":              "leave it out",
		"refresh_inventory": "the inventory is read once; leave it out",
		"clear_facts":       "facts are those of this run; leave it out",
		"clear_host_errors": "lost hosts stay lost for the run; max_fail tolerates some",
		"reset_connection":  "lost connections are opened again automatically; leave it out",
		"end_batch":         "meta: end_host: each host for which its condition holds leaves the play",
		"end_role":          "put the tasks behind it into a block with the opposite condition",
	}
)

// rejectAnsibleKeys records an error for each key that is a keyword of Ansible, and returns
// the mapping without these keys.
func (c *compiler) rejectAnsibleKeys(d *lang.Document, n *yaml.Node, what string, words map[string]string) *yaml.Node {
	out := *n
	out.Content = nil
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if advice, ok := words[n.Content[i].Value]; ok {
			c.fail(d.At(n.Content[i]).Errorf("unknown key %q in %s: %s", n.Content[i].Value, what, advice))
			continue
		}
		out.Content = append(out.Content, n.Content[i], n.Content[i+1])
	}
	if n.Kind != yaml.MappingNode {
		return n
	}
	return &out
}

// shortIncludeForm returns the short form of `include_role: {name: x}` and `include_tasks:
// {file: x}`.
func (c *compiler) shortIncludeForm(d *lang.Document, key, value *yaml.Node) *yaml.Node {
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
		c.fail(d.At(value.Content[i]).Errorf("%s takes no %s: write %[1]s: NAME, with vars, when and tags beside it", key.Value, value.Content[i].Value))
	}
	return short
}
