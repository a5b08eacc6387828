package main

import (
	"fmt"
	"strings"
)

// The numbers of tasks of one host by kind.
const (
	directories = 13
	templates   = 16
	copies      = 8
	services    = 4 // each has its unit file
	commands    = 4
	lines       = 4
	tasks       = directories + templates + copies + 2*services + commands + lines
)

// The directories of all files of the tasks except the unit files.
const (
	root    = "/etc/bench"
	unitDir = "/etc/systemd/system"
)

func directory(i int) string   { return fmt.Sprintf("%s/d%d", root, i) }
func mode(i int) string        { return []string{"0755", "0750", "0700"}[(i-1)%3] }
func templated(i int) string   { return fmt.Sprintf("%s/part%d.conf", directory(1+i%directories), i) }
func copied(i int) string      { return fmt.Sprintf("%s/data%d", directory(1+i%directories), i) }
func service(i int) string     { return fmt.Sprintf("bench-%d.service", i) }
func made(i int) string        { return fmt.Sprintf("%s/made%d", root, i) }
func line(i int) string        { return fmt.Sprintf("option%d = %d", i, 100*i) }
func templateSrc(i int) string { return fmt.Sprintf("part%d.conf.j2", i) }
func dataSrc(i int) string     { return fmt.Sprintf("data%d", i) }

const linesFile = root + "/lines.conf"

// unit returns the unit file of a service that starts at once and does nothing.
func unit(i int) string {
	return fmt.Sprintf("[Unit]\nDescription=Service %d of the benchmark\n\n[Service]\nType=exec\nExecStart=/bin/sleep infinity\n\n[Install]\nWantedBy=multi-user.target\n", i)
}

// data returns a version of the i-th copied file: 20 kB of text.
func data(i, version int) string {
	var b strings.Builder
	for n := 0; b.Len() < 20_000; n++ {
		fmt.Fprintf(&b, "file %d version %d line %04d: the quick brown fox jumps over the lazy dog\n", i, version, n)
	}
	return b.String()[:20_000-1] + "\n"
}

// vars are the variables of a host in templates.
type vars struct {
	name, address  string
	index          int
	release, owner string
	port           int
	peers          []string
}

// goTemplate returns the i-th template in Go's language; jinjaTemplate returns it in
// Jinja, and rendered its result. The fixed part is as long as that of most
// configuration files.
func goTemplate(i int) string {
	return fmt.Sprintf("# part %d of {{ host.name }}\nrelease = {{ release }}\nowner = {{ owner }}\nlisten = {{ host.address }}:{{ port }}\n"+
		"{{ range peers -}}\npeer = {{ . }}\n{{ end -}}\n{{ if eq .index 1 -}}\nfirst = yes\n{{ end -}}\n%s", i, fixed(i))
}

func jinjaTemplate(i int) string {
	return fmt.Sprintf("# part %d of {{ inventory_hostname }}\nrelease = {{ release }}\nowner = {{ owner }}\nlisten = {{ address }}:{{ port }}\n"+
		"{%% for peer in peers %%}\npeer = {{ peer }}\n{%% endfor %%}\n{%% if index == 1 %%}\nfirst = yes\n{%% endif %%}\n%s", i, fixed(i))
}

func rendered(i int, v vars) string {
	text := fmt.Sprintf("# part %d of %s\nrelease = %s\nowner = %s\nlisten = %s:%d\n", i, v.name, v.release, v.owner, v.address, v.port)
	for _, p := range v.peers {
		text += "peer = " + p + "\n"
	}
	if v.index == 1 {
		text += "first = yes\n"
	}
	return text + fixed(i)
}

func fixed(i int) string {
	var b strings.Builder
	for n := range 25 {
		fmt.Fprintf(&b, "setting.%d.%d = %d\n", i, n, i*1000+n)
	}
	return b.String()
}
