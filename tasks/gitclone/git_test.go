package gitclone

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// upstream is a repository to clone, created with the git of the machine.
type upstream struct {
	t   *testing.T
	dir string
}

func newUpstream(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{t, filepath.Join(t.TempDir(), "upstream")}
	u.git("init", "--quiet", "--initial-branch=main", u.dir)
	u.commit("one")
	u.git("-C", u.dir, "tag", "-m", "first", "v1")
	u.commit("two")
	return u
}

func (u *upstream) git(args ...string) string {
	u.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		u.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes the text to the file called file and returns the commit.
func (u *upstream) commit(text string) string {
	u.t.Helper()
	if err := os.WriteFile(filepath.Join(u.dir, "file"), []byte(text), 0o644); err != nil {
		u.t.Fatal(err)
	}
	u.git("-C", u.dir, "add", "file")
	u.git("-C", u.dir, "commit", "--quiet", "-m", text)
	return u.git("-C", u.dir, "rev-parse", "HEAD")
}

func newHost(t *testing.T) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	sys.Exec = func(ctx context.Context, cmd engine.Command) (engine.CommandResult, error) {
		cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C")
		return tasktest.RealExec(ctx, cmd)
	}
	return sys
}

func TestCloneIsIdempotent(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	first := u.git("-C", u.dir, "rev-parse", "v1^{commit}")
	u.git("-C", u.dir, "branch", "feature/x", first)
	tests := map[string]struct {
		git  Git
		file string // its content afterwards
		at   string // as the clone says it
	}{
		"default branch":        {Git{}, "two", "main"},
		"HEAD":                  {Git{Version: "HEAD"}, "two", "main"},
		"branch":                {Git{Version: "feature/x"}, "one", "feature/x"},
		"tag":                   {Git{Version: "v1"}, "one", "HEAD"},
		"commit":                {Git{Version: first}, "one", "HEAD"},
		"last commit only":      {Git{Depth: 1}, "two", "main"},
		"commit that is no tip": {Git{Version: strings.ToUpper(first), Depth: 1}, "one", "HEAD"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := newHost(t)
			g := tt.git
			g.Repo, g.Dest = "file://"+u.dir, "/srv/app"
			tasktest.Converge(t, sys, &g)
			if got := sys.Read(t, "/srv/app/file"); got != tt.file {
				t.Errorf("file has %q, want %q", got, tt.file)
			}
			if at := u.git("-C", sys.Path("/srv/app"), "rev-parse", "--abbrev-ref", "HEAD"); at != tt.at {
				t.Errorf("at %s, want %s", at, tt.at)
			}
			if n := u.git("-C", sys.Path("/srv/app"), "rev-list", "--count", "HEAD"); tt.git.Depth == 1 && n != "1" {
				t.Errorf("%s commits were fetched", n)
			}
		})
	}
}

func TestFollowsTheBranch(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	sys := newHost(t)
	g := &Git{Repo: u.dir, Dest: "/srv/app", Version: "main"}
	tasktest.Converge(t, sys, g)
	before := u.git("-C", u.dir, "rev-parse", "HEAD")
	after := u.commit("three")
	change, out, err := tasktest.Run(t, sys, g)
	want := []string{fmt.Sprintf("/srv/app: update from %.10s to main (%.10s)", before, after)}
	if diff := cmp.Diff(want, tasktest.Actions(change)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if diff := cmp.Diff(engine.Output{"before": before, "after": after}, out); diff != "" {
		t.Error(diff)
	}
	u.commit("four")
	if tasktest.Check(t, sys, &Git{Repo: u.dir, Dest: "/srv/app", Version: "main", Update: new(false)}).Needed {
		t.Error("update: false updates")
	}
	// rewritten history is followed: no local change is lost
	u.git("-C", u.dir, "reset", "--quiet", "--hard", "v1")
	u.commit("another three")
	tasktest.Converge(t, sys, g)
	tasktest.Converge(t, sys, &Git{Repo: u.dir, Dest: "/srv/app", Version: "v1"})
	moved := newUpstream(t)
	tasktest.Converge(t, sys, &Git{Repo: moved.dir, Dest: "/srv/app"})
}

func TestInterruptedCloneIsCompleted(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	sys := newHost(t)
	u.git("init", "--quiet", sys.Path("/srv/app")) // as far as the killed run came
	tasktest.Converge(t, sys, &Git{Repo: u.dir, Dest: "/srv/app"})
}

func TestLocalChangesAreNotOverwritten(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	sys := newHost(t)
	g := &Git{Repo: u.dir, Dest: "/srv/app"}
	tasktest.Converge(t, sys, g)
	sys.Write(t, "/srv/app/file", "mine", 0o644)
	if tasktest.Check(t, sys, g).Needed {
		t.Error("a local change is overwritten although there is no update")
	}
	u.commit("three")
	if _, _, err := tasktest.Run(t, sys, g); err == nil || !strings.Contains(err.Error(), "has local changes") {
		t.Errorf("error %v", err)
	}
	g.Force = true
	tasktest.Converge(t, sys, g)
	if got := sys.Read(t, "/srv/app/file"); got != "three" {
		t.Errorf("file has %q", got)
	}
	g.Force = false
	(&upstream{t, sys.Path("/srv/app")}).commit("mine")
	u.commit("four")
	if _, _, err := tasktest.Run(t, sys, g); err == nil || !strings.Contains(err.Error(), "no fetched branch or tag contains") {
		t.Errorf("error %v", err)
	}
	sys.Write(t, "/srv/app/file", "changed", 0o644)
	g.Force = true
	tasktest.Converge(t, sys, g)
	sys.Write(t, "/srv/app/file", "changed", 0o644)
	tasktest.Converge(t, sys, g) // force without an update
}

func TestErrors(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	sys := newHost(t)
	sys.Write(t, "/srv/full/x", "x", 0o644)
	if err := os.Symlink("/etc", sys.Path("/srv/link")); err != nil {
		t.Fatal(err)
	}
	for want, g := range map[string]*Git{
		"has no branch or tag \"none\"":     {Repo: u.dir, Dest: "/srv/app", Version: "none"},
		"is neither empty nor a clone":      {Repo: u.dir, Dest: "/srv/full"},
		"symbolic link to /etc":             {Repo: u.dir, Dest: "/srv/link"},
		"not an absolute path":              {Repo: u.dir, Dest: "app"},
		"is not an address":                 {Repo: "--upload-pack=x", Dest: "/srv/app"},
		"is not a name of a branch":         {Repo: u.dir, Dest: "/srv/app", Version: "-x"},
		"cannot be negative":                {Repo: u.dir, Dest: "/srv/app", Depth: -1},
		"key_file \"x\"":                    {Repo: u.dir, Dest: "/srv/app", KeyFile: "x"},
		"http://u:xxxxx@127.0.0.1:1/r":      {Repo: "http://u:secret@127.0.0.1:1/r", Dest: "/srv/app"},
		"has no commit 0123456789012345678": {Repo: u.dir, Dest: "/srv/other", Version: "0123456789012345678901234567890123456789"},
	} {
		_, _, err := tasktest.Run(t, sys, g)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestHostWithoutGit(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Exec = func(context.Context, engine.Command) (engine.CommandResult, error) {
		return engine.CommandResult{}, &exec.Error{Name: "git", Err: exec.ErrNotFound}
	}
	for _, version := range []string{"", strings.Repeat("0", 40)} {
		change, _, err := tasktest.Run(t, sys, &Git{Repo: "/r", Dest: "/srv/app", Version: version})
		if !change.Needed || err == nil || !strings.Contains(err.Error(), "install its package first") {
			t.Errorf("needed %t, %v: a dry run goes on, a real one says what is missing", change.Needed, err)
		}
	}
}

func TestGitNeverPrompts(t *testing.T) {
	t.Parallel()
	env := strings.Join((&Git{KeyFile: "/root/my key", AcceptNew: true}).environment(), "\n")
	for _, want := range []string{"GIT_TERMINAL_PROMPT=0", "BatchMode=yes", "-o IdentitiesOnly=yes -i '/root/my key'", "accept-new"} {
		if !strings.Contains(env, want) {
			t.Errorf("environment %s lacks %s", env, want)
		}
	}
}
