// Package command has the modules that run programs. These modules are the last resort: unlike
// other modules they cannot determine their own changes.
package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Command runs a program.
type Command struct {
	Cmd      hostcmd.Words     `yaml:"cmd" rule:"text" short:"true" doc:"the program and its arguments: a list, or a text that is split at blanks outside of quotes. No shell is involved, so |, > and $ have no meaning"`
	Argv     []string          `yaml:"argv" rule:"text" doc:"as cmd, always a list; instead of cmd"`
	Creates  string            `yaml:"creates" rule:"path" doc:"path or glob; the program does not run if it exists"`
	Removes  string            `yaml:"removes" rule:"path" doc:"path or glob; the program does not run if it does not exist"`
	Chdir    string            `yaml:"chdir" rule:"path" doc:"absolute path of the working directory; default: the home directory of the user of the SSH login, with become_user that user's"`
	Env      map[string]string `yaml:"env" rule:"text" keys:"environment" doc:"variables added to the agent's environment"`
	Stdin    string            `yaml:"stdin" rule:"text" doc:"standard input; default empty"`
	OKExits  []int             `yaml:"ok_exits" range:"0..255" doc:"exit codes that count as success; default 0"`
	OnResume string            `yaml:"on_resume" enum:"run,fail,skip" doc:"action after an interrupted attempt of this task (the host went down, the agent was killed, the run was stopped), when the same run continues or deployer resume continues it: run again, fail so that somebody can check the state of the host, or skip; default run"`
	ReadOnly bool              `yaml:"read_only" doc:"the program only reads: it is run in a dry run too and never counts as a change. Default false"`
}

// Shell runs lines of a shell.
type Shell struct {
	Cmd        string            `yaml:"cmd" rule:"text" short:"true" required:"true" doc:"one or more lines for the shell"`
	Executable string            `yaml:"executable" rule:"path" doc:"absolute path of the shell, which must know -c; default /bin/sh"`
	Creates    string            `yaml:"creates" rule:"path" doc:"path or glob; the program does not run if it exists"`
	Removes    string            `yaml:"removes" rule:"path" doc:"path or glob; the program does not run if it does not exist"`
	Chdir      string            `yaml:"chdir" rule:"path" doc:"absolute path of the working directory; default: the home directory of the user of the SSH login, with become_user that user's"`
	Env        map[string]string `yaml:"env" rule:"text" keys:"environment" doc:"variables added to the agent's environment"`
	Stdin      string            `yaml:"stdin" rule:"text" doc:"standard input; default empty"`
	OKExits    []int             `yaml:"ok_exits" range:"0..255" doc:"exit codes that count as success; default 0"`
	OnResume   string            `yaml:"on_resume" enum:"run,fail,skip" doc:"action after an interrupted attempt of this task (the host went down, the agent was killed, the run was stopped), when the same run continues or deployer resume continues it: run again, fail so that somebody can check the state of the host, or skip; default run"`
	ReadOnly   bool              `yaml:"read_only" doc:"the lines only read: they are run in a dry run too and never count as a change. Default false"`
}

var (
	_ engine.Module   = (*Command)(nil)
	_ engine.Module   = (*Shell)(nil)
	_ engine.Module   = (*Run)(nil)
	_ engine.Preparer = (*Script)(nil)
)

// RunsPrograms implements engine.RunsPrograms: become and become_user apply.
func (*Command) RunsPrograms() {}

// RunsPrograms implements engine.RunsPrograms: become and become_user apply.
func (*Shell) RunsPrograms() {}

// RunsPrograms implements engine.RunsPrograms: become and become_user apply.
func (*Script) RunsPrograms() {}

// RunsPrograms implements engine.RunsPrograms: become and become_user apply.
func (*Run) RunsPrograms() {}

func (s *Shell) command() *Command {
	return &Command{
		Argv: []string{cmp.Or(s.Executable, "/bin/sh"), "-c", s.Cmd}, Creates: s.Creates, Removes: s.Removes, Chdir: s.Chdir,
		Env: s.Env, Stdin: s.Stdin, OKExits: s.OKExits, OnResume: s.OnResume, ReadOnly: s.ReadOnly,
	}
}

// Check works like that of Command.
func (s *Shell) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if strings.TrimSpace(s.Cmd) == "" {
		return engine.Change{}, errors.New("cmd is empty")
	}
	return s.command().Check(ctx, sys)
}

// Apply works like that of Command.
func (s *Shell) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	return s.command().Apply(ctx, sys, change)
}

// Gate returns a command that only reads: with until, it may be the proof that a service
// is ready.
func (c *Command) Gate() any {
	if !c.ReadOnly {
		return nil
	}
	return c
}

// Gate works like that of Command.
func (s *Shell) Gate() any {
	if !s.ReadOnly {
		return nil
	}
	return s
}

func (c *Command) argv() []string {
	if len(c.Cmd) > 0 {
		return c.Cmd
	}
	return c.Argv
}

// Valid implements engine.Validator.
func (c *Command) Valid() error {
	if (len(c.Cmd) == 0) == (len(c.Argv) == 0) {
		return errors.New("either cmd or argv is required")
	}
	return nil
}

// Check evaluates creates and removes. Check runs a command that only reads.
func (c *Command) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := c.Valid(); err != nil {
		return engine.Change{}, err
	}
	effect := engine.Effect{Kind: engine.EffectCommand, Target: hostcmd.Quote(c.argv()), Action: "run"}
	return program{c.Creates, c.Removes, c.OnResume, c.ReadOnly, effect, c.run}.check(ctx, sys)
}

// Apply runs the program. The output has stdout and stderr after a failure too.
func (c *Command) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	return c.run(ctx, sys)
}

func (c *Command) run(ctx context.Context, sys engine.System) (engine.Output, error) {
	cmd := engine.Command{Argv: c.argv(), Dir: c.Chdir, Stdin: []byte(c.Stdin)}
	for _, key := range slices.Sorted(maps.Keys(c.Env)) {
		cmd.Env = append(cmd.Env, key+"="+c.Env[key])
	}
	return outcome(ctx, sys, cmd, cmd.Argv, c.OKExits)
}

// outcome runs a program. displayed is its name in messages; the output has ran, rc, stdout
// and stderr, of the latter the first and last 512 KiB.
func outcome(ctx context.Context, sys engine.System, cmd engine.Command, displayed []string, okExits []int) (engine.Output, error) {
	res, err := sys.Run(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", hostcmd.Quote(displayed), err)
	}
	out := engine.Output{
		"ran": true, "rc": res.Exit,
		"stdout": strings.TrimRight(res.Stdout, "\n"), "stderr": strings.TrimRight(res.Stderr, "\n"),
	}
	if res.Exit == 0 && len(okExits) == 0 || slices.Contains(okExits, res.Exit) {
		return out, nil
	}
	return out, hostcmd.Failed(displayed, res)
}
