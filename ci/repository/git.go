package repository

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// hardened are options of every git that this program starts. Configuration and refs of a
// repository may come from people who may not execute programs as this user, and each of these
// keys names a program, loads a file, or replaces one object by another.
var hardened = []string{
	"--no-pager",
	"--no-replace-objects", // refs/replace/ shows another commit in the place of a merged one
	"-c", "core.hooksPath=/dev/null",
	"-c", "core.fsmonitor=false",
	"-c", "core.alternateRefsCommand=:",
	"-c", "core.editor=:",
	"-c", "diff.external=",
	"-c", "log.showSignature=false", // it starts gpg.program
	"-c", "push.gpgSign=false",
	"-c", "protocol.ext.allow=never",
	"-c", "submodule.recurse=false",
	"-c", "gc.auto=0",
	"-c", "maintenance.auto=false",
	"-c", "advice.detachedHead=false",
}

// command is one call of git.
type command struct {
	dir   string // directory in which git starts
	args  []string
	stdin []byte
	// gitDir is the repository; empty for the one of dir. Within a hook git sees the objects of
	// the push.
	gitDir string
	// remote permits git to contact a remote. Without it no transport starts, so that no key of
	// the configuration can name a program for it.
	remote bool
}

// run returns the output of git without the last newline.
func (c command) run(ctx context.Context) (string, error) {
	args := append([]string{}, hardened...)
	environ := without(os.Environ(), slices.Concat(hookVariables, misleading, secret))
	if c.gitDir == "" {
		environ = without(environ, objectVariables)
	} else {
		args = append(args, "--git-dir="+c.gitDir)
	}
	environ = append(environ, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0")
	if !c.remote {
		environ = append(environ, "GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1")
	}
	cmd := exec.CommandContext(ctx, "git", append(args, c.args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, environ, bytes.NewReader(c.stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(stderr.String())
		if text == "" {
			text = err.Error()
		}
		return "", fmt.Errorf("git %s: %s", c.args[0], text)
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// git runs git in a directory, without the network.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return command{dir: dir, args: args}.run(ctx)
}

// git runs git on the repository, without the network.
func (r *Repository) git(ctx context.Context, args ...string) (string, error) {
	return command{dir: r.Dir, gitDir: r.Dir, args: args}.run(ctx)
}

// gitRemote runs git on the repository and lets it contact a remote.
func (r *Repository) gitRemote(ctx context.Context, args ...string) (string, error) {
	return command{dir: r.Dir, gitDir: r.Dir, args: args, remote: true}.run(ctx)
}

// The variables of git that direct it to other data than those of its directory.
var (
	// objectVariables name directories with objects, such as those of a push in a hook.
	objectVariables = []string{"GIT_OBJECT_DIRECTORY", "GIT_QUARANTINE_PATH", "GIT_ALTERNATE_OBJECT_DIRECTORIES"}
	// hookVariables are what git sets for a hook besides.
	hookVariables = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE"}
	// misleading replace objects and attributes, or name programs.
	misleading = []string{"GIT_REPLACE_REF_BASE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_ATTR_SOURCE", "GIT_TEMPLATE_DIR",
		"GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"}
	// secret are the keys of the state, which no program that git starts for a remote gets.
	secret = []string{KeyVariable, KeyFileVariable}
)

// Environment returns the environment of commands that run in a checkout: without the variables
// that git sets for hooks, which would lead a git of another repository to this one.
func Environment() []string { return without(without(os.Environ(), hookVariables), objectVariables) }

// without returns an environment without the variables with these names.
func without(environ, names []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(names, name)
	})
}
