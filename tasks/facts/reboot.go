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

// Reboot reports whether the host requires a reboot.
type Reboot struct {
	Required bool     `json:"required"`
	Why      []string `json:"why"` // packages or programs that require it, as far as known
}

// asker is a program that reports whether updates require a reboot, with its exit codes.
type asker struct {
	argv    []string
	yes, no int
	hint    string // advice for installing the program
}

// askers maps package managers whose packages leave no mark to their programs. Red Hat's
// program reports a required reboot by exit code 1, which is also its code for failures:
// its output must name a package.
var askers = map[string]asker{
	"dnf":    {argv: []string{"needs-restarting", "-r"}, yes: 1, hint: "it is in the package yum-utils"},
	"zypper": {argv: []string{"zypper", "needs-rebooting"}, yes: 102, hint: "it is in the package zypper"},
}

// reboot looks for the mark that packages of Debian and Ubuntu leave, and runs the asker
// elsewhere.
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

// marked returns the packages that have left the mark, without duplicates.
func marked(sys engine.System) []string {
	text, err := os.ReadFile(sys.Path("/run/reboot-required.pkgs"))
	if err != nil {
		return []string{} // an older release, or a mark set by an administrator
	}
	names := strings.Fields(string(text))
	slices.Sort(names)
	return slices.Compact(names)
}

// packagesIn parses the list of needs-restarting, " * kernel".
func packagesIn(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "* "); ok {
			out = append(out, name)
		}
	}
	return out
}
