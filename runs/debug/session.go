package debug

import (
	_ "embed"
	"strings"

	"gopkg.in/yaml.v3"

	"deployer/engine/lang/dialect"
	"deployer/project"
	"deployer/shellquote"
)

//go:embed host.sh
var hostScript string

// Session is one call of deployer debug.
type Session struct {
	// Name of the container on every host. No two sessions have the same.
	Name string
	// Image that runs.
	Image Image
	// KeepImage leaves the image on hosts that it was sent to.
	KeepImage bool
}

// script returns lines for a POSIX shell that end with a call of a function of host.sh.
func (s Session) script(digest, terminal, call string, words ...string) string {
	keep := "no"
	if s.KeepImage {
		keep = "yes"
	}
	set := ""
	for _, v := range [][2]string{{"session", s.Name}, {"image", s.Image.Name}, {"digest", digest}, {"keep", keep}, {"terminal", terminal}} {
		set += v[0] + "=" + shellquote.Word(v[1]) + "\n"
	}
	return set + hostScript + strings.TrimSpace(call+" "+shellquote.Line(words)) + "\n"
}

// Command returns the lines that run a command in the container without a terminal, until
// standard input ends. A single word is a command line of the shell.
func (s Session) Command(words []string) string {
	if len(words) == 1 {
		words = []string{"/bin/bash", "-c", words[0]}
	}
	return s.script("", "", "run", words...)
}

// Shell returns the lines that run the entrypoint of the image on a terminal of a type such
// as xterm-256color.
func (s Session) Shell(terminal string) string { return s.script("", terminal, "run") }

// Clean returns the lines that remove the session from a host.
func (s Session) Clean() string { return s.script("", "", "clean") }

// Playbook returns the playbook that prepares hosts for the session.
func (s Session) Playbook() (project.PlaybookSource, error) {
	known := s.Image.architectures()
	tasks := []any{map[string]any{"name": "the image is there for the host's processor", "assert": map[string]any{
		"that":     `facts.arch in ["` + strings.Join(known, `", "`) + `"]`,
		"fail_msg": "the image " + s.Image.Name + " is there for " + strings.Join(known, " and ") + ", not for {{ facts.arch }}: build it with deployer images build debug --arch {{ facts.arch }}",
	}}}
	for _, arch := range known {
		archive, only := s.Image.Archives[arch], `facts.arch == "`+arch+`"`
		tasks = append(tasks,
			map[string]any{"name": "remove what killed sessions have left, and look for the image", "when": only, "register": "debug_image",
				"shell": map[string]any{"cmd": dialect.Literal(s.script(archive.Digest, "", "prepare"))}},
			map[string]any{"name": "send the image", "when": only + ` && trim(debug_image.stdout) == "missing"`,
				"copy": map[string]any{"src": dialect.Literal(archive.Path), "dest": "/var/lib/deployer/debug/" + s.Name + ".tar", "mode": "0600"}})
	}
	text, err := yaml.Marshal([]any{map[string]any{"name": "debug", "hosts": "all", "tasks": tasks}})
	if err != nil {
		return project.PlaybookSource{}, err
	}
	return project.Inline(text, "debug"), nil
}
