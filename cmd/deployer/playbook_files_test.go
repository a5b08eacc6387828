package main

import "testing"

// TestFilesOfPlaybookAreRecorded checks that a change of a file near the playbook is
// drift of a plan and of a run.
func TestFilesOfPlaybookAreRecorded(t *testing.T) {
	for file, changed := range map[string]string{
		"common/vars.yaml":             "greeting: changed\n",
		"common/base.yaml":             "- hosts: all\n",
		"common/motd.tmpl":             "changed",
		"roles/note/tasks/main.yaml":   "[]\n",
		"playbooks/../common/two.yaml": "[]\n",
	} {
		t.Run(file, func(t *testing.T) {
			s := newTestSite(t, 1, map[string]string{
				"playbooks/site.yaml": `
- import_playbook: ../common/base.yaml
- hosts: all
  vars_files: [../common/vars.yaml]
  roles: [note]
  tasks:
    - template: {src: ../common/motd.tmpl, dest: /motd}
    - include_tasks: ../common/two.yaml
`,
				"common/base.yaml":           "- hosts: all\n  tasks: [{file: {path: /base, content: x}}]\n",
				"common/vars.yaml":           "greeting: hello\n",
				"common/motd.tmpl":           "{{ greeting }}",
				"common/two.yaml":            "- file: {path: /two, content: x}\n",
				"roles/note/tasks/main.yaml": "- file: {path: /note, content: x}\n",
			})
			s.deployer(exitOK, "plan", "run", "playbooks/site.yaml", "-o", "plan.json")
			before := s.hostFile(0, "motd")
			s.write(file, changed)
			out, output := s.deployer(exitRefused, "apply", "plan.json")
			requireTexts(t, out+output, file[len(file)-9:])
			if before != "-" || s.hostFile(0, "motd") != "-" {
				t.Error("something was done")
			}
			s.deployer(exitOK, "run", "playbooks/site.yaml")
			if s.hostFile(0, "motd") == "-" {
				t.Error("nothing was done")
			}
		})
	}
}

// TestPlaybookGroupVars checks that group_vars and host_vars beside the playbook
// override the inventory's files, are recorded in plans, and are in inventory show.
func TestPlaybookGroupVars(t *testing.T) {
	s := newTestSite(t, 1, map[string]string{
		"site/site.yaml":           "- hosts: all\n  tasks: [{file: {path: /output, content: '{{ greeting }} {{ name }} {{ hosts.n001.vars.name }}'}}]\n",
		"group_vars/all.yaml":      "greeting: hello\nname: nobody\n",
		"site/group_vars/all.yaml": "name: all\n",
		"site/host_vars/n001.yaml": "name: n001\n",
	})
	s.deployer(exitOK, "plan", "run", "site/site.yaml", "-o", "plan.json")
	s.write("site/host_vars/n001.yaml", "name: other\n")
	out, output := s.deployer(exitRefused, "apply", "plan.json")
	requireTexts(t, out+output, "site/host_vars/n001.yaml")
	s.deployer(exitOK, "run", "site/site.yaml")
	if got := s.hostFile(0, "output"); got != "hello other other" {
		t.Errorf("the host has %q", got)
	}
	out, _ = s.deployer(exitOK, "inventory", "show", "n001", "--playbook", "site/site.yaml")
	requireTexts(t, out, "vars.greeting ", " hello ", "group_vars/all.yaml:1:11", "vars.name ", " other ", "site/host_vars/n001.yaml:1:7")
	out, _ = s.deployer(exitOK, "inventory", "show", "n001")
	requireTexts(t, out, "vars.name ", " nobody ")
}
