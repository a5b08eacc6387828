package packages

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

// distribution plays the package programs of a host.
type distribution struct {
	installed []string
	offered   []string // by the package source, once the lists are fresh
	fresh     bool
	offline   bool
}

func (d *distribution) exec(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
	args := slices.DeleteFunc(slices.Clone(cmd.Argv), func(a string) bool {
		return strings.HasPrefix(a, "-") || strings.Contains(a, "::") || strings.Contains(a, "=")
	})
	switch args[0] {
	case "dpkg-query":
		var res engine.CommandResult
		for _, name := range args[1:] {
			if slices.Contains(d.installed, name) {
				res.Stdout += name + " installed\n"
			} else {
				res.Exit, res.Stderr = 1, "no packages found matching "+name
			}
		}
		return res, nil
	case "rpm":
		if slices.Contains(d.installed, args[1]) {
			return engine.CommandResult{Stdout: args[1] + "-1.0\n"}, nil
		}
		return engine.CommandResult{Exit: 1, Stdout: "no package provides " + args[1] + "\n"}, nil
	case "apt-get", "dnf", "zypper":
		return d.manage(args[1], args[2:]), nil
	}
	return engine.CommandResult{}, errors.New("no such program " + args[0])
}

func (d *distribution) manage(verb string, names []string) engine.CommandResult {
	if d.offline && verb != "remove" {
		return engine.CommandResult{Exit: 100, Stderr: "E: Failed to fetch http://deb.example/x  Temporary failure resolving 'deb.example'\n"}
	}
	switch verb {
	case "update":
		d.fresh = true
	case "install":
		for _, n := range names {
			if !d.fresh || !slices.Contains(d.offered, n) {
				return engine.CommandResult{Exit: 100, Stderr: "E: Unable to locate package " + n + "\n"}
			}
			d.installed = append(d.installed, n)
		}
	case "remove":
		d.installed = slices.DeleteFunc(d.installed, func(n string) bool { return slices.Contains(names, n) })
	}
	return engine.CommandResult{}
}

func host(t *testing.T, program string, d *distribution) *tasktest.System {
	t.Helper()
	sys := tasktest.New(t)
	sys.Exec = d.exec
	sys.Write(t, program, "", 0o755)
	return sys
}

func TestConverges(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"/usr/bin/apt-get", "/usr/bin/dnf", "/usr/bin/zypper"} {
		d := &distribution{installed: []string{"a", "old"}, offered: []string{"b", "c"}, fresh: program != "/usr/bin/apt-get"}
		sys := host(t, program, d)
		change := tasktest.Converge(t, sys, &Package{Names: []string{"a", "b", "x|a", "c|d"}})
		if diff := cmp.Diff([]string{"b: install", "c: install"}, tasktest.Actions(change)); diff != "" {
			t.Error(program, diff)
		}
		change = tasktest.Converge(t, sys, &Package{Names: []string{"old", "never"}, State: "absent"})
		if diff := cmp.Diff([]string{"old: remove"}, tasktest.Actions(change)); diff != "" {
			t.Error(program, diff)
		}
	}
}

func TestNoSource(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*distribution{"offline": {offline: true}, "not offered": {}} {
		sys := host(t, "/usr/bin/apt-get", d)
		_, _, err := tasktest.Run(t, sys, &Package{Names: []string{"conntrack"}})
		failure, ok := errors.AsType[*engine.Failure](err)
		if !ok || !strings.Contains(failure.Message, "no package source of this host offers conntrack") || failure.Detail == "" {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestNothingWantedNeedsNoPackageManager(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	if tasktest.Check(t, sys, &Package{}).Needed {
		t.Error("an empty list needs a change")
	}
	for want, p := range map[string]*Package{
		"has none of apt-get, dnf and zypper": {Names: []string{"a"}},
		"is not the name of a package":        {Names: []string{"--purge"}},
		"want present or absent":              {State: "latest"},
	} {
		if _, _, err := tasktest.Run(t, sys, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
