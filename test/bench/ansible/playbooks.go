package main

import (
	"fmt"
	"strings"
)

// deployerPlaybook returns the tasks as a playbook of deployer. It does not check
// that services stay up, as the other tools do not either.
func deployerPlaybook() string {
	return fill("", [...]string{
		"directory: {path: %s, mode: %q}", "template: {src: %s, dest: %s, mode: %q}", "copy: {src: %s, dest: %s, mode: %q}",
		"unit: {name: %s, state: started, enabled: true, stable_for: 0s}", "command: {cmd: %s, creates: %s}",
		"line: {path: %s, line: %q, create: true}",
	}, "")
}

// ansiblePlaybook returns the same tasks as a playbook of Ansible.
func ansiblePlaybook() string {
	return fill("  gather_facts: false\n", [...]string{
		"file: {path: %s, state: directory, mode: %q}", "template: {src: %s, dest: %s, mode: %q}", "copy: {src: %s, dest: %s, mode: %q}",
		"systemd: {name: %s, state: started, enabled: true%s}", "command: {cmd: %s, creates: %s}",
		"lineinfile: {path: %s, line: %q, create: true}",
	}, ", daemon_reload: true")
}

// fill returns the tasks with the given module names: directory, template, copy,
// service, command, line. once is added to the first service, so that systemd reads
// the unit files once only.
func fill(head string, words [6]string, once string) string {
	var b strings.Builder
	task := func(name string, format string, args ...any) {
		fmt.Fprintf(&b, "    - name: %s\n      "+format+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintf(&b, "- hosts: all\n%s  tasks:\n", head)
	for i := 1; i <= directories; i++ {
		task(fmt.Sprint("directory ", i), words[0], directory(i), mode(i))
	}
	for i := 1; i <= templates; i++ {
		task(fmt.Sprint("template ", i), words[1], templateSrc(i), templated(i), "0644")
	}
	for i := 1; i <= copies; i++ {
		task(fmt.Sprint("copy ", i), words[2], dataSrc(i), copied(i), "0644")
	}
	for i := 1; i <= services; i++ {
		task(fmt.Sprint("unit file ", i), words[2], service(i), unitDir+"/"+service(i), "0644")
	}
	for i := 1; i <= services; i++ {
		if strings.Count(words[3], "%") == 1 {
			task(fmt.Sprint("service ", i), words[3], service(i))
			continue
		}
		task(fmt.Sprint("service ", i), words[3], service(i), once)
		once = ""
	}
	for i := 1; i <= commands; i++ {
		task(fmt.Sprint("command ", i), words[4], "touch "+made(i), made(i))
	}
	for i := 1; i <= lines; i++ {
		task(fmt.Sprint("line ", i), words[5], linesFile, line(i))
	}
	return b.String()
}
