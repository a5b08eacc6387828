// Package command has the modules that run programs. They are the last resort:
// unlike other modules they cannot tell by themselves what they change.
package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Command runs a program.
type Command struct {
	Argv     []string          `yaml:"argv" doc:"the program and its arguments; no shell sees them"`
	Cmd      string            `yaml:"cmd" doc:"a line for /bin/sh -c; instead of argv"`
	Creates  string            `yaml:"creates" doc:"path or glob; when it exists, nothing is run"`
	Removes  string            `yaml:"removes" doc:"path or glob; when it does not exist, nothing is run"`
	Chdir    string            `yaml:"chdir" doc:"working directory; default the agent's"`
	Env      map[string]string `yaml:"env" doc:"added to the agent's environment"`
	Stdin    string            `yaml:"stdin" doc:"standard input; default empty"`
	OKExits  []int             `yaml:"ok_exits" doc:"exit codes that are no failure; default 0"`
	ReadOnly bool              `yaml:"read_only" doc:"the program only reads: it is run in a dry run too and never counts as a change. Default false"`
}

// Shell is a line for /bin/sh.
type Shell struct {
	Cmd      string            `yaml:"cmd" required:"true" doc:"one or more lines for /bin/sh -c"`
	Creates  string            `yaml:"creates" doc:"path or glob; when it exists, nothing is run"`
	Removes  string            `yaml:"removes" doc:"path or glob; when it does not exist, nothing is run"`
	Chdir    string            `yaml:"chdir" doc:"working directory; default the agent's"`
	Env      map[string]string `yaml:"env" doc:"added to the agent's environment"`
	Stdin    string            `yaml:"stdin" doc:"standard input; default empty"`
	OKExits  []int             `yaml:"ok_exits" doc:"exit codes that are no failure; default 0"`
	ReadOnly bool              `yaml:"read_only" doc:"the lines only read: they are run in a dry run too and never count as a change. Default false"`
}

var (
	_ engine.Module = (*Command)(nil)
	_ engine.Module = (*Shell)(nil)
)

func (s *Shell) command() *Command {
	return &Command{
		Cmd: s.Cmd, Creates: s.Creates, Removes: s.Removes, Chdir: s.Chdir,
		Env: s.Env, Stdin: s.Stdin, OKExits: s.OKExits, ReadOnly: s.ReadOnly,
	}
}

// Check does what Command's does.
func (s *Shell) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	return s.command().Check(ctx, sys)
}

// Apply does what Command's does.
func (s *Shell) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	return s.command().Apply(ctx, sys, change)
}

func (c *Command) argv() []string {
	if c.Cmd != "" {
		return []string{"/bin/sh", "-c", c.Cmd}
	}
	return c.Argv
}

// Check decides by creates and removes; a command that only reads runs here.
func (c *Command) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if (c.Cmd == "") == (len(c.Argv) == 0) {
		return engine.Change{}, errors.New("want either argv or cmd")
	}
	if why, err := c.settled(sys); err != nil || why != "" {
		return engine.NoChange(engine.Output{"ran": false, "why": why}), err
	}
	if c.ReadOnly {
		out, err := c.run(ctx, sys)
		return engine.NoChange(out), err
	}
	return engine.Changed(engine.Effect{Kind: engine.EffectCommand, Target: hostcmd.Quote(c.argv()), Action: "run"}), nil
}

// settled says why nothing has to be run; empty when something has.
func (c *Command) settled(sys engine.System) (string, error) {
	if c.Creates != "" {
		there, err := exists(sys, c.Creates)
		if err != nil || there {
			return c.Creates + " exists", err
		}
	}
	if c.Removes != "" {
		there, err := exists(sys, c.Removes)
		if err != nil || !there {
			return c.Removes + " does not exist", err
		}
	}
	return "", nil
}

func exists(sys engine.System, pattern string) (bool, error) {
	if !filepath.IsAbs(pattern) {
		return false, fmt.Errorf("path %q is not absolute", pattern)
	}
	if _, err := os.Lstat(sys.Path(pattern)); err == nil {
		return true, nil
	}
	found, err := filepath.Glob(sys.Path(pattern))
	return len(found) > 0, err
}

// Apply runs the program. What it said is in the output even when it failed.
func (c *Command) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	return c.run(ctx, sys)
}

func (c *Command) run(ctx context.Context, sys engine.System) (engine.Output, error) {
	cmd := engine.Command{Argv: c.argv(), Dir: c.Chdir, Stdin: []byte(c.Stdin)}
	for _, key := range slices.Sorted(maps.Keys(c.Env)) {
		cmd.Env = append(cmd.Env, key+"="+c.Env[key])
	}
	res, err := sys.Run(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("running %s: %w", hostcmd.Quote(cmd.Argv), err)
	}
	out := engine.Output{
		"ran": true, "rc": res.Exit,
		"stdout": strings.TrimRight(res.Stdout, "\n"), "stderr": strings.TrimRight(res.Stderr, "\n"),
	}
	if res.Exit == 0 && len(c.OKExits) == 0 || slices.Contains(c.OKExits, res.Exit) {
		return out, nil
	}
	return out, hostcmd.Failed(cmd.Argv, res)
}
