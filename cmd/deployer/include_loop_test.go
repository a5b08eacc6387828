package main

import "testing"

// TestIncludeLoop checks a loop at include_tasks whose items differ by host, in plan,
// run and revert.
func TestIncludeLoop(t *testing.T) {
	s := newTestSite(t, 3, map[string]string{
		"group_vars/all.yaml": "sites: [{name: one, port: 80}]\n",
		"host_vars/n002.yaml": "sites: [{name: one, port: 81}, {name: two, port: 82}]\n",
		"host_vars/n003.yaml": "sites: []\n",
		"site.yaml": `
- hosts: all
  tasks:
    - include_tasks: tasks/site.yaml
      loop: sites
      loop_control: {loop_var: site, label: "{{ site.name }}"}
    - {include_role: page, loop: "[more]", when: item != ""}
  handlers:
    - {name: reload, file: {path: /reloaded, content: "yes"}}
`,
		"tasks/site.yaml": `
- name: configure
  file: {path: "/at-{{ site.name }}", content: "{{ site.port }}"}
  notify: reload
- name: chosen
  set: {chosen: here}
  run_once: true
- file: {path: "/at-{{ site.name }}.{{ item }}", content: "{{ chosen }}"}
  loop: [a, b]
  barrier: true
`,
		"roles/page/tasks/main.yaml": "- file: {path: '/page-{{ item }}', content: x}\n",
	})
	output, _ := s.deployer(exitOK, "run", "site.yaml", "-e", "more=index", "-v")
	requireTexts(t, output, "configure (one)", "configure (two)")
	for host, want := range []map[string]string{
		{"at-one": "80", "at-two": "-", "reloaded": "yes", "page-index": "x"},
		{"at-one": "81", "at-two": "82", "at-two.a": "here", "reloaded": "yes"},
		{"at-one": "-", "reloaded": "-", "page-index": "x"},
	} {
		for path, content := range want {
			if got := s.hostFile(host, path); got != content {
				t.Errorf("host %d: %s is %q, want %q", host+1, path, got, content)
			}
		}
	}
	out, _ := s.deployer(exitOK, "plan", "run", "site.yaml", "-e", "more=index")
	requireTexts(t, out, "nothing to do")
	s.deployer(exitOK, "revert", s.runs()[0].Header.Run, "--yes")
	if s.hostFile(1, "at-two") != "-" || s.hostFile(0, "at-one") != "-" {
		t.Error("not restored")
	}
	s.deployer(exitOK, "plan", "run", "site.yaml", "-e", "more=index", "-o", "plan.json")
	s.deployer(exitOK, "apply", "plan.json")
	if got := s.hostFile(1, "at-two.b"); got != "here" {
		t.Errorf("the plan wrote %q", got)
	}
	s.write("host_vars/n003.yaml", "sites: '{{ facts.addresses }}'\n")
	_, complaint := s.deployer(exitUsage, "run", "site.yaml", "-e", "more=index", "--list")
	requireTexts(t, complaint, "site.yaml:5:13: loop at include_tasks", "it reads facts (through the variable at host_vars/n003.yaml:1:8)")
}
