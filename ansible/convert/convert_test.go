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
	return &convert.Translator{Modules: modules, Renamed: ansible.ModuleNames(), NeedsDot: lang.NeedsDot}
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
  package: {name: "{{ packages }}", state: present, update_cache: true}
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
  loop: 'map(toPairs(settings), ({key: #[0], value: #[1]}))'
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
        broken: '{{ first(split(installed.stdout, "\n")) }}'
  always:
    - debug: {msg: 'it is {{ item }}'}
      loop: 'filter(groups.web, # not in [host.name])'
      when:
        - installed.changed
        - '!("x" in $env && x)'
    - assert:
        that: int(facts.memory_bytes / 1048576) > 100
    - meta: flush_handlers
    - include_tasks: more.yml
      tags: [a, false]
`

func TestTasks(t *testing.T) {
	name, got, notes, err := words().File("roles/app/tasks/main.yml", []byte(before))
	if err != nil || len(notes) > 0 || name != "roles/app/tasks/main.yml" {
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
			"- hosts: web\n  become: yes\n  collections: [a.b]\n  vars: {url: \"http://{{ domain }}/\"}\n  roles:\n    - {role: web, when: a is defined}\n  tasks:\n    - ping:\n- import_playbook: x.yml\n",
			"- hosts: web\n  become: true\n  collections: [a.b]\n  vars: {url: \"http://{{ domain }}/\"}\n  roles:\n    - {role: web, when: '\"a\" in $env'}\n  tasks:\n    - ping:\n- import_playbook: x.yml\n", ""},
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
		if c.note == "" && len(notes) > 0 || c.note != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0].String(), c.note)) {
			t.Errorf("%s: notes %v, want %q", name, notes, c.note)
		}
	}
	if _, _, _, err := words().File("site.yml", []byte("a: [")); err == nil {
		t.Error("no YAML was read")
	}
}

func FuzzFile(f *testing.F) {
	f.Add("a/tasks/main.yml", before)
	f.Add("a/vars/main.yml", "a: {b: [\"{{ x }}\", yes]}\nc: |\n  {{ y }}\n")
	f.Fuzz(func(_ *testing.T, name, text string) {
		_, _, _, _ = words().File(name, []byte(text))
	})
}
