package convert_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/ansible"
	"deployer/ansible/convert"
	"deployer/engine/lang"
	"deployer/tasks"
)

func words() *convert.Translator {
	var modules []string
	for _, k := range tasks.Modules() {
		modules = append(modules, k.Name)
	}
	return &convert.Translator{Modules: modules, Renamed: ansible.ModuleNames(), Expressions: convert.NewKnowledge().Expressions(lang.NeedsDot)}
}

const before = `---
# What the role does.
- name: variables
  include_vars: "{{ item }}"
  with_first_found:
    - "{{ ansible_facts['distribution'] }}.yml"
    - ../vars/default.yml

- name: package  # with its tools
  ansible.builtin.apt: {name: "{{ packages }}", state: installed, update_cache: yes}
  when: >
    ansible_os_family == 'Debian'
    and packages | length > 0
  register: installed

- file: path=/etc/app state=directory mode=0750

- ansible.builtin.file:
    path: "/var/lib/{{ app }}"
    state: directory
    mode: 0750

- file: {dest: /etc/app/old, state: absent, owner: root}
- file: {src: /opt/app-1, path: /opt/app, state: link}

- name: "all of {{ item.key }}"
  lineinfile:
    path: /etc/app.conf
    regexp: '^(a)='
    line: '\1={{ item.value }}'
    insertafter: EOF
    backrefs: yes
  with_dict: "{{ settings }}"
  notify: restart app
  no_log: true

- command: app --version
  check_mode: no
  changed_when: false
- shell:
    cmd: app --list {{ app }}
  check_mode: false

- block:
    - template: src=app.conf.j2 dest=/etc/app.conf
      ignore_errors: "{{ ansible_check_mode }}"
    - shell: |
        set -e
        echo {{ inventory_hostname }} > /tmp/x
      until: result.rc == 0
      delay: 5
  rescue:
    - set_fact:
        broken: "{{ installed.stdout_lines | first }}"
  always:
    - debug: msg="it is {{ item }}"
      loop: "{{ groups['web'] | difference([inventory_hostname]) }}"
      when:
        - installed is changed
        - not (x is defined and x | bool)
    - assert:
        that: ansible_memtotal_mb > 100
    - ansible.builtin.meta: flush_handlers
    - import_tasks: more.yml
      tags: [a, no]
`

const after = `---
# What the role does.
- name: variables
  include_vars: ['{{ facts.os }}.yml', default.yml]

- name: package  # with its tools
  package: {install_recommends: true, name: "{{ packages }}", state: present, update_cache: true}
  when: facts.os_family == "debian" && len(packages) > 0
  register: installed

- directory: {path: /etc/app, mode: '0750'}

- directory:
    path: "/var/lib/{{ app }}"
    mode: "0750"

- absent: {path: /etc/app/old}
- link: {to: /opt/app-1, path: /opt/app}

- name: "all of {{ item.key }}"
  line:
    path: /etc/app.conf
    regexp: '^(a)='
    line: '${1}={{ item.value }}'
    insert_after: EOF
    backrefs: true
  loop: settings | dict2items
  notify: restart app
  secret: true

- command: {cmd: app --version, read_only: true}
  changed_when: false
- shell:
    read_only: true
    cmd: app --list {{ app }}

- block:
    - template: {src: app.conf.tmpl, dest: /etc/app.conf}
    - shell: |
        set -e
        echo {{ host.name }} > /tmp/x
      until: result.rc == 0
      delay: 5s
  rescue:
    - set:
        broken: '{{ first(installed.stdout_lines) }}'
  always:
    - debug: {msg: 'it is {{ item }}'}
      loop: groups.web | difference([host.name])
      when:
        - installed.changed
        - '!("x" in $env && (x | bool))'
    - assert:
        that: int(facts.memory_bytes / 1048576) > 100
    - meta: flush_handlers
    - include_tasks: more.yml
      tags: [a, false]
`

func TestTasks(t *testing.T) {
	name, got, notes, err := words().File("roles/app/tasks/main.yml", []byte(before))
	if err != nil || untranslated(notes) != "" || name != "roles/app/tasks/main.yml" {
		t.Errorf("%s, %v, %v", name, notes, err)
	}
	if diff := cmp.Diff(after, string(got)); diff != "" {
		t.Error(diff)
	}
	if _, again, notes, err := words().File("roles/app/tasks/main.yml", []byte("- file: {path: /a}\n  when: a == 1\n")); err != nil || len(notes) > 0 || string(again) != "- file: {path: /a}\n  when: a == 1\n" {
		t.Errorf("what is right was changed: %s, %v, %v", again, notes, err)
	}
}

func TestPlaysVarsAndTemplates(t *testing.T) {
	for name, c := range map[string]struct{ newName, in, out, note string }{
		"site.yml": {"site.yml",
			"- hosts: web\n  become: yes\n  collections: [a.b]\n  vars: {url: \"http://{{ domain }}/\"}\n  roles:\n    - {role: web, when: a is defined}\n  tasks:\n    - debug: {msg: x}\n- import_playbook: x.yml\n",
			"- hosts: web\n  become: true\n  collections: [a.b]\n  vars: {url: \"http://{{ domain }}/\"}\n  roles:\n    - {role: web, when: '\"a\" in $env'}\n  tasks:\n    - debug: {msg: x}\n- import_playbook: x.yml\n", ""},
		"roles/a/defaults/main.yml": {"roles/a/defaults/main.yml",
			"on: yes\nfile: web.conf.j2\nx: 'no'\nlist: [\"{{ a }}, {{ b }}\"]\ntext: |\n  {% if a %}\n  x {{ a }}\n  {% endif %}\n  end\n",
			"on: true\nfile: web.conf.tmpl\nx: 'no'\nlist: [\"{{ a }}, {{ b }}\"]\ntext: |\n  {{ a ? (\"x \" + string(a) + \"\\n\") : \"\" }}end\n", ""},
		"roles/a/templates/x.conf.j2": {"roles/a/templates/x.conf.tmpl", "a {{ b }}\n", "a {{ b }}\n", ""},
		"roles/a/files/x.j2":          {"roles/a/files/x.j2", "a {{ b }}\n", "a {{ b }}\n", ""},
		"roles/a/files/x.yml":         {"roles/a/files/x.yml", "a: yes\n", "a: yes\n", ""},
		"roles/a/vars/x.yml": {"roles/a/vars/x.yml", "a: '{{ lookup(\"pipe\", \"x\") }}'\n", "a: '{{ lookup(\"pipe\", \"x\") }}'\n",
			"1:4: "},
		"roles/a/handlers/main.yml": {"roles/a/handlers/main.yml", "- name: r\n  service: name=x state=restarted\n", "- name: r\n  service: {name: x, state: restarted}\n", ""},
	} {
		newName, got, notes, err := words().File(name, []byte(c.in))
		if err != nil || newName != c.newName {
			t.Errorf("%s: %s, %v", name, newName, err)
		}
		if diff := cmp.Diff(c.out, string(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if c.note == "" && untranslated(notes) != "" || c.note != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0].String(), c.note)) {
			t.Errorf("%s: notes %v, want %q", name, notes, c.note)
		}
	}
	if _, _, _, err := words().File("site.yml", []byte("a: [")); err == nil {
		t.Error("no YAML was read")
	}
}

// untranslated returns the notes about parts without a translation.
func untranslated(notes []convert.Note) string {
	var out []string
	for _, n := range notes {
		if !n.Differs {
			out = append(out, n.String())
		}
	}
	return strings.Join(out, "\n")
}

// TestListed: parts of a playbook whose translation differs, or that has none, are listed,
// and arguments in front of a command become arguments.
func TestListed(t *testing.T) {
	for in, want := range map[string]struct{ out, note string }{
		"- command: creates=/x /bin/make all\n":                                                   {"- command: {cmd: /bin/make all, creates: '/x'}\n", ""},
		"- shell: make all chdir='/src dir' creates={{ d }}/x\n":                                  {"- shell: {cmd: make all, chdir: '/src dir', creates: '{{ d }}/x'}\n", ""},
		"- command: make\n  args:\n    chdir: /src\n    creates: \"{{ d }}\"\n":                   {"- command: {cmd: make, chdir: /src, creates: '{{ d }}'}\n", ""},
		"- shell: |\n    a\n    b {{ inventory_hostname }}\n  args:\n    executable: /bin/bash\n": {"- shell:\n    cmd: |\n      a\n      b {{ host.name }}\n    executable: /bin/bash\n", ""},
		"- command: echo $HOME\n":                                                                 {"- command: echo $HOME\n", "differs: Ansible replaces $NAME"},
		"- apt: {name: x, force: yes}\n":                                                          {"- package: {install_recommends: true, name: x, force: true}\n", "no argument force"},
		"- apt: {name: x, state: absent}\n":                                                       {"- package: {name: x, state: absent}\n", ""},
		"- apt: {update_cache: yes, cache_valid_time: 600}\n":                                     {"- package: {update_cache: true, cache_valid_time: 600s}\n", ""},
		"- blockinfile:\n    path: /a\n    block: x\n":                                            {"- text_block:\n    marker: \"# {mark} ANSIBLE MANAGED BLOCK\"\n    path: /a\n    block: x\n", ""},
		"- blockinfile: {path: /a, block: x, marker: '; {mark}'}\n":                               {"- text_block: {path: /a, block: x, marker: '; {mark}'}\n", ""},
		"- user: {name: x, groups: [a]}\n":                                                        {"- user: {append: false, name: x, groups: [a]}\n", ""},
		"- user: {name: x, groups: a, append: yes}\n":                                             {"- user: {name: x, groups: a, append: true}\n", ""},
		"- lineinfile: {path: /a, line: 'x $y \\1'}\n":                                            {"- line: {path: /a, line: 'x $y \\1'}\n", ""},
		"- replace: {path: /a, regexp: (a), replace: '$x \\1'}\n":                                 {"- replace: {path: /a, regexp: (a), replacement: '$$x ${1}'}\n", ""},
		"- replace: {path: /a, regexp: '(?<!a)b'}\n":                                              {"- replace: {path: /a, regexp: '(?<!a)b'}\n", "patterns are those of RE2"},
		"- file: {path: /a, state: directory, recurse: yes}\n":                                    {"- directory: {path: /a, recurse: true}\n", "no argument recurse"},
		"- debug: {msg: '{{ x }}'}\n  with_items: '{{ xs }}'\n":                                   {"- debug: {msg: '{{ x }}'}\n  loop: xs | flatten(levels=1)\n", ""},
		"- debug: {msg: a}\n  with_items: ['{{ a }}', '{{ b | int }}']\n":                         {"- debug: {msg: a}\n  loop: ['{{ a }}', '{{ b | int }}']\n", "taken apart"},
		"- debug: {msg: a}\n  with_nested: [[a], [b]]\n":                                          {"- debug: {msg: a}\n  with_nested: [[a], [b]]\n", "with_nested has no equivalent"},
		"- debug: {msg: a}\n  async: 5\n":                                                         {"- debug: {msg: a}\n  async: 5\n", "async has no equivalent"},
		"- firewalld: {port: 1}\n":                                                                {"- firewalld: {port: 1}\n", "no module firewalld"},
		"- hosts: master\n  strategy: free\n":                                                     {"- hosts: master\n  strategy: free\n", "group_master"},
		"- hosts: web\n":                                                                          {"- hosts: web\n", "strategy: linear"},
		"- debug: {msg: a}\n  when: \"'etcd' in group_names\"\n":                                  {"- debug: {msg: a}\n  when: '\"etcd\" in host.groups'\n", "group_etcd"},
	} {
		_, got, notes, err := words().File("roles/a/tasks/main.yml", []byte(in))
		if err != nil || string(got) != want.out {
			t.Errorf("%s gives %v\n%swant\n%s", in, err, got, want.out)
		}
		if want.note == "" && len(notes) > 0 || want.note != "" && (len(notes) != 1 || !strings.Contains(notes[0].String(), want.note)) {
			t.Errorf("%s: notes %v, want %q", in, notes, want.note)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add("a/tasks/main.yml", before)
	f.Add("a/vars/main.yml", "a: {b: [\"{{ x }}\", yes]}\nc: |\n  {{ y }}\n")
	f.Fuzz(func(_ *testing.T, name, text string) {
		_, _, _, _ = words().File(name, []byte(text))
	})
}
