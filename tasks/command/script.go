package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Script sends a script of the role to the host, runs it and removes it.
type Script struct {
	Cmd        hostcmd.Words     `yaml:"cmd" rule:"text" short:"true" required:"true" doc:"name of the script in the role's files directory, and its arguments: a list, or a text that is split at blanks outside of quotes"`
	Executable string            `yaml:"executable" rule:"path" doc:"absolute path of the program that reads the script; default: what its first line names after #!, else /bin/sh"`
	Creates    string            `yaml:"creates" rule:"path" doc:"path or glob; the program does not run if it exists"`
	Removes    string            `yaml:"removes" rule:"path" doc:"path or glob; the program does not run if it does not exist"`
	Chdir      string            `yaml:"chdir" rule:"path" doc:"absolute path of the working directory; default: the home directory of the user of the SSH login, with become_user that user's"`
	Env        map[string]string `yaml:"env" rule:"text" keys:"environment" doc:"variables added to the agent's environment"`
	Stdin      string            `yaml:"stdin" rule:"text" doc:"standard input; default empty"`
	OKExits    []int             `yaml:"ok_exits" range:"0..255" doc:"exit codes that count as success; default 0"`
	OnResume   string            `yaml:"on_resume" enum:"run,fail,skip" doc:"action after an interrupted attempt of this task (the host went down, the agent was killed, the run was stopped), when the same run continues or deployer resume continues it: run again, fail so that somebody can check the state of the host, or skip; default run"`
	ReadOnly   bool              `yaml:"read_only" doc:"the script only reads: it is run in a dry run too and never counts as a change. Default false"`
}

// Gate works like that of Command.
func (s *Script) Gate() any {
	if !s.ReadOnly {
		return nil
	}
	return s
}

// inlineLimit is the maximum size in bytes of a script inside a step; larger ones are
// blobs.
const inlineLimit = 32 << 10

// Prepare reads the script.
func (s *Script) Prepare(_ context.Context, c engine.PrepareContext) (string, engine.Module, error) {
	if len(s.Cmd) == 0 {
		return "", nil, errors.New("cmd is empty: give the name of a script in the role's directory files")
	}
	content, err := c.File(s.Cmd[0])
	if err != nil {
		return "", nil, fmt.Errorf("reading script %s: %w", s.Cmd[0], err)
	}
	run := &Run{
		Name: s.Cmd[0], Args: s.Cmd[1:], Program: reader(content, s.Executable), Creates: s.Creates, Removes: s.Removes,
		Chdir: s.Chdir, Env: s.Env, Stdin: s.Stdin, OKExits: s.OKExits, OnResume: s.OnResume, ReadOnly: s.ReadOnly,
	}
	if len(content) > inlineLimit || !utf8.Valid(content) {
		run.Blob = c.AddBlob(content)
	} else {
		run.Content = string(content)
	}
	return "script_run", run, nil
}

// reader returns the interpreter of the script, to which the path is appended. Naming
// the interpreter works also where /tmp is mounted noexec. It is empty for a binary.
func reader(content []byte, executable string) []string {
	if executable != "" {
		return []string{executable}
	}
	if bytes.HasPrefix(content, []byte("\x7fELF")) {
		return nil
	}
	first, _, _ := bytes.Cut(content, []byte("\n"))
	line, ok := bytes.CutPrefix(first, []byte("#!"))
	program, argument, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
	if !ok || len(program) == 0 {
		return []string{"/bin/sh"}
	}
	words := []string{string(program)}
	if argument = bytes.TrimSpace(argument); len(argument) > 0 {
		words = append(words, string(argument)) // the kernel passes the rest of the line as one argument
	}
	return words
}
