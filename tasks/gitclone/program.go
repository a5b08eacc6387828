package gitclone

import (
	"context"
	"errors"
	"net/url"
	"os/exec"
	"strings"

	"deployer/engine"
	"deployer/shellquote"
	"deployer/tasks/hostcmd"
)

// errNoGit is the cause when the host has no git program.
var errNoGit = errors.New("the host has no git: install its package first")

// environment prevents git from prompting, and from writing its index during a check.
func (g *Git) environment() []string {
	ssh := "ssh -o BatchMode=yes"
	if g.KeyFile != "" {
		ssh += " -o IdentitiesOnly=yes -i " + shellquote.Word(g.KeyFile)
	}
	if g.AcceptNew {
		ssh += " -o StrictHostKeyChecking=accept-new"
	}
	return []string{"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_SSH_COMMAND=" + ssh}
}

// run runs git and returns its trimmed output. Errors do not contain the password of an
// address.
func (g *Git) run(ctx context.Context, sys engine.System, args ...string) (string, error) {
	argv := append([]string{"git"}, args...)
	res, err := sys.Run(ctx, engine.Command{Argv: argv, Env: g.environment()})
	if errors.Is(err, exec.ErrNotFound) {
		return "", errNoGit
	}
	if err != nil {
		return "", err
	}
	if res.Exit == 0 {
		return strings.TrimSpace(res.Stdout), nil
	}
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], g.Repo, g.shown())
	}
	res.Stderr = strings.ReplaceAll(res.Stderr, g.Repo, g.shown())
	return "", hostcmd.Failed(argv, res)
}

// in runs git in the clone.
func (g *Git) in(ctx context.Context, sys engine.System, args ...string) (string, error) {
	return g.run(ctx, sys, append([]string{"-C", sys.Path(g.Dest)}, args...)...)
}

// ask runs git in the clone for a query that may have no result, which git reports with
// exit code 1.
func (g *Git) ask(ctx context.Context, sys engine.System, args ...string) (string, error) {
	argv := append([]string{"git", "-C", sys.Path(g.Dest)}, args...)
	res, err := sys.Run(ctx, engine.Command{Argv: argv, Env: g.environment()})
	if errors.Is(err, exec.ErrNotFound) {
		return "", errNoGit
	}
	if err != nil {
		return "", err
	}
	if res.Exit > 1 {
		return "", hostcmd.Failed(argv, res)
	}
	return strings.TrimSpace(res.Stdout), nil
}

// shown returns the address without its password.
func (g *Git) shown() string { return redacted(g.Repo) }

func redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address // a path or user@host:path, neither of which has a password
	}
	return u.Redacted()
}
