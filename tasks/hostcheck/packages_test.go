package hostcheck

import (
	"context"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestPackages(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		program   string
		installed string               // in the words of dpkg-query
		source    engine.CommandResult // the output of apt
		ok        bool
		detail    string
	}{
		"installed":    {"/usr/bin/apt-get", "conntrack amd64 installed 1\nipset amd64 installed 1\n", engine.CommandResult{}, true, "all 2 installed"},
		"installable":  {"/usr/bin/apt-get", "ipset amd64 installed 1\n", engine.CommandResult{}, true, "not installed yet: conntrack; a package source offers them"},
		"no source":    {"/usr/bin/apt-get", "", engine.CommandResult{Exit: 100, Stderr: "E: Failed to fetch http://x/  Could not connect\n"}, false, "not installed: conntrack, ipset; and no package source offers them: Failed to fetch http://x/"},
		"no way to be": {"/usr/bin/pacman", "", engine.CommandResult{}, false, "none of apt-get, dnf and zypper"},
	} {
		sys := host(t)
		sys.Write(t, c.program, "", 0o755)
		sys.Exec = func(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
			if cmd.Argv[0] == "dpkg-query" {
				return engine.CommandResult{Stdout: c.installed}, nil
			}
			return c.source, nil
		}
		change := tasktest.Check(t, sys, &Checks{Packages: []string{"conntrack", "ipset"}})
		rows := change.Output["checks"].([]any)
		row := rows[len(rows)-1].(map[string]any)
		if row["check"] != "packages" || row["ok"] != c.ok || !strings.Contains(row["detail"].(string), c.detail) {
			t.Errorf("%s: row %v, want ok %t and %q", name, row, c.ok, c.detail)
		}
	}
}
