package packages

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// source is a fake of the package programs that list candidates.
type source struct {
	t       *testing.T
	sys     *tasktest.System
	offers  []string
	offline string // output of the program when no source answers
	broken  bool   // one of apt's sources is down
	lists   bool   // apt has read lists, into a directory of their own
}

func (s *source) exec(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
	has := func(arg string) bool { return slices.Contains(cmd.Argv, arg) }
	if cmd.Argv[0] == "apt-get" {
		i := slices.IndexFunc(cmd.Argv, func(a string) bool { return strings.HasPrefix(a, "Dir::State::lists=/var/lib/deployer/tmp/apt-") })
		if i < 0 {
			s.t.Errorf("%v would change what the host knows of its sources", cmd.Argv)
			return engine.CommandResult{}, nil
		}
		if _, err := os.Stat(s.sys.Path(strings.TrimPrefix(cmd.Argv[i], "Dir::State::lists=")) + "/partial"); err != nil {
			s.t.Error(err)
		}
	}
	switch {
	case s.offline != "":
		return engine.CommandResult{Exit: 100, Stderr: s.offline}, nil
	case has("update"):
		s.lists = true
		if s.broken {
			return engine.CommandResult{Exit: 100, Stderr: "E: Failed to fetch http://other.example/x  Could not connect\n"}, nil
		}
		return engine.CommandResult{}, nil
	case has("repoquery"):
		name := cmd.Argv[len(cmd.Argv)-1]
		if slices.Contains(s.offers, name) {
			return engine.CommandResult{Stdout: name + "-0:1.0-1.x86_64\n"}, nil
		}
		return engine.CommandResult{}, nil
	case has("install") && (has("--simulate") && s.lists || has("--dry-run")):
		if name := cmd.Argv[len(cmd.Argv)-1]; !slices.Contains(s.offers, name) {
			return engine.CommandResult{Exit: 104, Stderr: "Reading package lists...\nE: Unable to locate package " + name + "\n"}, nil
		}
		return engine.CommandResult{}, nil
	}
	s.t.Errorf("%v looks like more than a question", cmd.Argv)
	return engine.CommandResult{}, nil
}

func TestOffered(t *testing.T) {
	t.Parallel()
	for program, silent := range map[string]string{
		"/usr/bin/apt-get": "Err:1 http://deb.example stable InRelease\nE: Failed to fetch http://deb.example/x  Could not connect to deb.example:80\n",
		"/usr/bin/dnf":     "Error: Failed to download metadata for repo 'baseos': Cannot download repomd.xml\n",
		"/usr/bin/zypper":  "Download (curl) error for 'http://example/repodata/repomd.xml'\n",
	} {
		sys := tasktest.New(t)
		sys.Write(t, program, "", 0o755)
		s := &source{t: t, sys: sys, offers: []string{"conntrack"}}
		sys.Exec = s.exec
		if err := Offered(t.Context(), sys, []string{"conntrack"}); err != nil {
			t.Errorf("%s: %v", program, err)
		}
		err := Offered(t.Context(), sys, []string{"conntrack", "unheard-of"})
		if err == nil || !strings.Contains(err.Error(), "no package source of this host offers conntrack unheard-of") {
			t.Errorf("%s: %v", program, err)
		}
		if reason := Reason(err); !strings.Contains(reason, "unheard-of") || strings.Contains(reason, "\n") {
			t.Errorf("%s: reason %q", program, reason)
		}
		s.broken = true
		if err := Offered(t.Context(), sys, []string{"conntrack"}); err != nil {
			t.Errorf("%s: one of several sources is down: %v", program, err)
		}
		s.offline = silent
		if err := Offered(t.Context(), sys, []string{"conntrack"}); err == nil || Reason(err) == "" {
			t.Errorf("%s: offline, and %v", program, err)
		}
		if left, _ := os.ReadDir(sys.Path(scratch)); len(left) > 0 {
			t.Errorf("%s: left %v behind", program, left)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	d := &distribution{installed: map[string]string{"a": "1"}}
	sys := host(t, "/usr/bin/apt-get", d)
	got, err := Missing(t.Context(), sys, []string{"a", "z|a", "c|d", "b"})
	if err != nil || !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := Missing(t.Context(), tasktest.New(t), nil); got != nil || err != nil {
		t.Errorf("nothing wanted: %v, %v", got, err)
	}
}
