package facts

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/facts"
	"deployer/tasks/hostcmd"
)

// Reboot says whether the host asks for one.
type Reboot struct {
	Required bool     `json:"required"`
	Why      []string `json:"why"` // what asks for it, as far as the host says
}

// asker is a program that knows whether updates wait for a reboot, and the exit
// codes that it answers with.
type asker struct {
	argv    []string
	yes, no int
	hint    string // where the program comes from
}

// askers are those of package managers whose packages leave no mark; by package
// manager. The program of Red Hat's says yes by 1, which is also how it fails: its
// answer has to name a package.
var askers = map[string]asker{
	"dnf":    {argv: []string{"needs-restarting", "-r"}, yes: 1, hint: "it is in the package yum-utils"},
	"zypper": {argv: []string{"zypper", "needs-rebooting"}, yes: 102, hint: "it is in the package zypper"},
}

// reboot looks for the mark that packages of Debian and Ubuntu leave, and asks
// the package manager elsewhere.
func reboot(ctx context.Context, sys engine.System) (any, error) {
	found := Reboot{Why: []string{}}
	host := facts.Read(sys.Path("/"))
	if host.RebootRequired {
		found.Required = true
		found.Why = marked(sys)
	}
	ask, ok := askers[host.PackageManager]
	if !ok {
		return found, nil
	}
	res, err := sys.Run(ctx, engine.Command{Argv: ask.argv, Env: []string{"LC_ALL=C"}})
	said := packagesIn(res.Stdout)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, &engine.Failure{Message: ask.argv[0] + " is not there to ask: " + ask.hint}
	case err != nil:
		return nil, err
	case res.Exit == ask.no:
		return found, nil
	case res.Exit == ask.yes && (ask.yes != 1 || len(said) > 0):
		found.Required = true
		found.Why = append(found.Why, said...)
		return found, nil
	}
	return nil, hostcmd.Failed(ask.argv, res)
}

// marked are the packages that have left the mark, each once.
func marked(sys engine.System) []string {
	text, err := os.ReadFile(sys.Path("/run/reboot-required.pkgs"))
	if err != nil {
		return []string{} // an older release, or a mark that an administrator has set
	}
	names := strings.Fields(string(text))
	slices.Sort(names)
	return slices.Compact(names)
}

// packagesIn reads the list that needs-restarting prints, "  * kernel".
func packagesIn(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "* "); ok {
			out = append(out, name)
		}
	}
	return out
}
