package convert

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// yaml translates a file of plays, tasks or variables.
func (w *Translator) yaml(k kind, data []byte) ([]byte, []Note, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, nil, err
	}
	if len(doc.Content) == 0 {
		return data, nil, nil
	}
	s, root := newSource(data, w.Expressions), doc.Content[0]
	switch {
	case k == vars || root.Kind == yaml.MappingNode:
		s.value(root, false)
	default:
		for _, n := range root.Content {
			if hosts, _ := get(n, "hosts"); k == tasks && hosts == nil {
				w.task(s, n)
			} else {
				w.play(s, n)
			}
		}
	}
	return s.result(), s.notes, nil
}

// each calls visit for the pairs of a mapping; other nodes have none.
func each(n *yaml.Node, visit func(key, value *yaml.Node)) {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		visit(n.Content[i], n.Content[i+1])
	}
}

func get(n *yaml.Node, name string) (key, value *yaml.Node) {
	each(n, func(k, v *yaml.Node) {
		if k.Value == name {
			key, value = k, v
		}
	})
	return key, value
}

func (w *Translator) play(s *source, n *yaml.Node) {
	s.lockstep(n)
	each(n, func(key, value *yaml.Node) {
		switch bare(key.Value) {
		case "tasks", "pre_tasks", "post_tasks", "handlers":
			w.tasks(s, value)
		case "roles":
			for _, r := range value.Content {
				each(r, func(k, v *yaml.Node) { w.keyword(s, k, v) })
			}
		case "import_playbook":
			s.rename(key, "import_playbook")
		case "collections":
			s.remove(key, value)
		default:
			w.keyword(s, key, value)
		}
	})
	if hosts, _ := get(n, "hosts"); hosts == nil { // it is a list of tasks
		if imports, _ := get(n, "import_playbook"); imports == nil {
			w.task(s, n)
		}
	}
}

func (w *Translator) tasks(s *source, n *yaml.Node) {
	for _, t := range n.Content {
		w.task(s, t)
	}
}

// lockstep lists that hosts do not wait for each other after each task.
func (s *source) lockstep(play *yaml.Node) {
	hosts, pattern := get(play, "hosts")
	if strategy, _ := get(play, "strategy"); strategy == nil && hosts != nil && pattern.Value != "localhost" {
		s.differ(hosts, "hosts do not wait for each other after each task, as they do in Ansible: strategy: linear makes them wait")
	}
}

// bare returns a name without its collection.
func bare(word string) string {
	if parts := strings.Split(word, "."); len(parts) == 3 {
		return parts[2]
	}
	return word
}

func (w *Translator) task(s *source, n *yaml.Node) {
	if w.firstFound(s, n) {
		return
	}
	each(n, func(key, value *yaml.Node) {
		switch word := bare(key.Value); word {
		case "block", "rescue", "always":
			if value.Kind == yaml.SequenceNode {
				w.tasks(s, value)
				return
			}
			w.module(s, key, value, nil)
		default:
			if !w.keyword(s, key, value) {
				w.module(s, key, value, w.taskArguments(s, n, word))
			}
		}
	})
}

// keyword translates a keyword of a task, block, role or play. keyword returns false for
// other words.
func (w *Translator) keyword(s *source, key, value *yaml.Node) bool {
	flow := false
	word := bare(key.Value)
	switch word {
	case "when", "changed_when", "failed_when", "until":
		s.condition(value, flow)
	case "loop", "with_list":
		s.rename(key, "loop")
		s.loop(value, flow, func(list string) string { return list })
	case "with_items":
		s.rename(key, "loop")
		s.flattened(value, "flatten(levels=1)")
	case "with_flattened", "with_community.general.flattened":
		s.rename(key, "loop")
		s.flattened(value, "flatten")
	case "with_dict":
		s.rename(key, "loop")
		s.differ(key, "with_dict: the items are sorted by key; Ansible keeps the order of the file")
		s.loop(value, flow, func(dict string) string { return piped(dict, "dict2items") })
	case "no_log":
		s.rename(key, "secret")
		s.value(value, flow)
	case "ignore_errors":
		if strings.Contains(value.Value, "ansible_check_mode") && s.remove(key, value) {
			break // deployer reports missing things in dry runs itself
		}
		s.value(value, flow)
	case "delay", "timeout":
		if value.ShortTag() == "!!int" {
			s.replace(value, value.Value+"s", flow)
		}
	case "check_mode":
		if value.Value != "false" && truths[value.Value] != "false" || !s.remove(key, value) {
			s.note(key, "check_mode has no equivalent: the variable run.check is true in a dry run")
		}
	case "args":
		if value.Kind != yaml.MappingNode {
			s.note(key, "the arguments stand below the module")
		} // taskArguments moves them
	case "hosts":
		s.hosts(key, value)
	case "name", "vars", "environment", "register", "notify", "listen", "tags", "become", "become_user", "delegate_to", "run_once",
		"loop_control", "retries", "throttle", "role", "serial", "vars_files", "gather_facts", "any_errors_fatal", "force_handlers", "strategy",
		"vars_prompt", "dependencies", "meta", "max_fail_percentage", "tasks_from":
		if word != key.Value {
			s.rename(key, word)
		}
		s.value(value, flow)
	default:
		if !strings.HasPrefix(word, "with_") && !slices.Contains(missingKeywords, word) {
			return false
		}
		s.note(key, word+" has no equivalent: `deployer run PLAYBOOK --list` says what to write")
		s.value(value, flow)
	}
	return true
}

// missingKeywords are the keywords of Ansible that deployer does not have.
var missingKeywords = []string{
	"action", "any_unreachable", "async", "become_exe", "become_flags", "become_method", "connection", "debugger", "delegate_facts", "diff",
	"fact_path", "gather_subset", "gather_timeout", "ignore_unreachable", "local_action", "module_defaults", "order", "poll", "port", "remote_user",
}

// known reports whether a word is a module or keyword of tasks.
func (w *Translator) known(word string) bool {
	return slices.Contains(w.Modules, word) || slices.Contains([]string{"include_role", "include_tasks", "include_vars", "loop", "secret", "set"}, word)
}

// firstFound turns an include_vars with with_first_found into one with a list of names.
// firstFound returns false when the task has another form.
func (w *Translator) firstFound(s *source, n *yaml.Node) bool {
	key, value := get(n, "with_first_found")
	var include, from *yaml.Node
	each(n, func(k, v *yaml.Node) {
		if bare(k.Value) == "include_vars" {
			include, from = k, v
		}
	})
	if key == nil || include == nil || value.Kind != yaml.SequenceNode || len(value.Content) == 0 {
		return false
	}
	last := s.last(value)
	if files := value.Content[0]; files.Kind == yaml.MappingNode {
		if _, value = get(files, "files"); value == nil || value.Kind != yaml.SequenceNode {
			return false
		}
	}
	list := make([]string, len(value.Content))
	for i, v := range value.Content {
		list[i] = translated(s, v)
	}
	if named, _ := get(from, "name"); named != nil {
		s.note(named, "include_vars has no argument name: variables keep the names that they have in the file")
		return false
	}
	if last < 0 || from.Kind == yaml.ScalarNode && s.end(from) < 0 || !s.removeFrom(key, last) {
		return false
	}
	s.change(s.start(include), s.lastOr(from, include), "include_vars: ["+strings.Join(list, ", ")+"]")
	each(n, func(k, v *yaml.Node) {
		if k != key && k != include {
			w.keyword(s, k, v)
		}
	})
	return true
}

func (s *source) removeFrom(key *yaml.Node, end int) bool {
	from := s.start(key)
	begin := s.lines[s.line(from)]
	if strings.TrimSpace(string(s.data[begin:from])) != "" {
		return false
	}
	s.change(begin, s.lineEnd(end), "")
	return true
}

func (s *source) lastOr(n, key *yaml.Node) int {
	if end := s.last(n); end > 0 {
		return end
	}
	return s.end(key)
}
