package agent

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
)

func TestAccounts(t *testing.T) {
	a, err := newAccount(&user.User{Username: "ann", Uid: "1000", Gid: "100", HomeDir: "/home/ann"}, []string{"100", "27"})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		self int
		want *syscall.Credential
		err  string
	}{
		"root becomes anybody":      {0, &syscall.Credential{Uid: 1000, Gid: 100, Groups: []uint32{100, 27}}, ""},
		"nobody needs to become it": {1000, nil, ""},
		"others cannot":             {1001, nil, "running a program as ann needs root"},
	}
	for name, tt := range tests {
		got, err := a.credential(tt.self)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(syscall.Credential{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q", name, err, tt.err)
		}
	}
	if _, err := newAccount(&user.User{Username: "ann", Uid: "S-1-5", Gid: "1"}, nil); err == nil {
		t.Error("a user without a number was taken")
	}
}

func TestLoginUser(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"sudoer":   {"SUDO_USER": "sudoer", "LOGNAME": "root"},
		"doer":     {"DOAS_USER": "doer", "LOGNAME": "root"},
		"su":       {"LOGNAME": "su"},
		selfName(): {},
	} {
		if got := loginUser(func(name string) string { return env[name] }); got != want {
			t.Errorf("%v: %q, want %q", env, got, want)
		}
	}
}

// TestRunsAs: the programs of a step run as its user and in its environment;
// variables that the module itself sets win.
func TestRunsAs(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{me.Username}
	if os.Geteuid() == 0 {
		names = append(names, "nobody")
	}
	for _, name := range names {
		u, err := user.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		b := newTestHost(t, nil)
		s := agenttest.Step(t, "1", "sh", shArgs{Line: "id -un; id -G; echo $HOME $USER $LOGNAME $A $B", Env: []string{"B=module"}})
		s.User, s.Env = name, []string{"A=step", "B=step"}
		groups, err := u.GroupIds()
		if err != nil {
			t.Fatal(err)
		}
		out := b.one(t, s).Output["stdout"].(string)
		lines := strings.Split(out, "\n")
		want := []string{name, u.HomeDir + " " + name + " " + name + " step module"}
		if diff := cmp.Diff(want, []string{lines[0], lines[2]}); diff != "" {
			t.Errorf("as %s: %s", name, diff)
		}
		if len(strings.Fields(lines[1])) != len(groups) {
			t.Errorf("as %s: groups %s, want %v", name, lines[1], groups)
		}
	}
}

// TestChown: a file for the programs of a step belongs to their user.
func TestChown(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{"": me.Uid, me.Username: me.Uid}
	if os.Geteuid() == 0 {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		names["nobody"] = nobody.Uid
	}
	for name, want := range names {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (&system{step: &stepRun{step: engine.Step{User: name}}}).Chown(path); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(info.Sys().(*syscall.Stat_t).Uid); got != want {
			t.Errorf("given to %q: user %s, want %s", name, got, want)
		}
	}
}

func TestRunsAsNobodyThatIsThere(t *testing.T) {
	b := newTestHost(t, nil)
	s := agenttest.Step(t, "1", "sh", shArgs{Line: "true"})
	s.User = "no-such-user"
	if f := b.one(t, s).Failure; f == nil || !strings.Contains(f.Message, `this host has no user "no-such-user"`) {
		t.Errorf("failure %v", f)
	}
}

// one runs one step.
func (b *testHost) one(t *testing.T, s engine.Step) engine.Result {
	t.Helper()
	var out engine.Result
	if err := b.Run(t.Context(), engine.Segment{Run: "r", Steps: []engine.Step{s}}, func(r engine.Result) { out = r }); err != nil {
		t.Fatal(err)
	}
	return out
}

// shArgs is a module that runs a line of shell.
type shArgs struct {
	Line string
	Env  []string
	Dir  string
}

// programArgs is shArgs for a program of the user.
type programArgs struct{ shArgs }

func (*programArgs) RunsPrograms() {}

func (a *shArgs) Check(context.Context, engine.System) (engine.Change, error) {
	return engine.Change{Needed: true}, nil
}

func (a *shArgs) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	res, err := sys.Run(ctx, engine.Command{Argv: []string{"sh", "-c", a.Line}, Env: a.Env, Dir: a.Dir})
	return engine.Output{"stdout": res.Stdout}, err
}

// TestProgramsStartAtHome: a program of the user starts in the home directory of the login,
// unless the module names another one. Other modules' programs start in the agent's.
func TestProgramsStartAtHome(t *testing.T) {
	home, own := loginHome(), mustGetwd(t)
	if home == own {
		t.Fatalf("the test runs in the home directory %s and shows nothing", home)
	}
	b := newTestHost(t, nil)
	for want, step := range map[string]engine.Step{
		home:   agenttest.Step(t, "1", "program", programArgs{shArgs: shArgs{Line: "pwd"}}),
		"/usr": agenttest.Step(t, "2", "program", programArgs{shArgs: shArgs{Line: "pwd", Dir: "/usr"}}),
		own:    agenttest.Step(t, "3", "sh", shArgs{Line: "pwd"}),
	} {
		if got := b.one(t, step).Output["stdout"]; got != want+"\n" && got != want {
			t.Errorf("%s of module %s starts in %q, want %q", step.ID, step.Module, got, want)
		}
	}
}

func mustGetwd(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
