package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// manager is how one family of distributions is asked. All of it goes through
// command lines that have been stable for decades.
type manager struct {
	name      string
	installed func(ctx context.Context, sys engine.System, names []string) (map[string]bool, error)
	install   func(ctx context.Context, sys engine.System, names []string) error
	remove    func(ctx context.Context, sys engine.System, names []string) error
	// offered returns nil when the sources answer and have all of these; see Offered.
	offered func(ctx context.Context, sys engine.System, names []string) error
}

func detect(sys engine.System) (manager, error) {
	for _, c := range []struct {
		program string
		manager func() manager
	}{{"/usr/bin/apt-get", apt}, {"/usr/bin/dnf", dnf}, {"/usr/bin/zypper", zypper}} {
		if _, err := os.Stat(sys.Path(c.program)); err == nil {
			return c.manager(), nil
		}
	}
	return manager{}, errors.New("this host has none of apt-get, dnf and zypper: install its packages by other means and leave the list of packages empty")
}

func apt() manager {
	return manager{
		name:      "apt-get",
		installed: dpkgInstalled,
		install: func(ctx context.Context, sys engine.System, names []string) error {
			err := aptGet(ctx, sys, append([]string{"install", "-y", "--no-install-recommends"}, names...)...)
			if err == nil || !staleLists(err) {
				return err
			}
			sys.Progress("reading the lists of packages again")
			// One source that is down is no harm when another one has the packages.
			silent := aptGet(ctx, sys, "update", "-o", "APT::Update::Error-Mode=any")
			err = aptGet(ctx, sys, append([]string{"install", "-y", "--no-install-recommends"}, names...)...)
			if err != nil && silent != nil {
				return silent
			}
			return err
		},
		remove: func(ctx context.Context, sys engine.System, names []string) error {
			return aptGet(ctx, sys, append([]string{"remove", "-y"}, names...)...)
		},
		offered: aptOffered,
	}
}

// aptGet waits up to two minutes for another apt to end: unattended upgrades
// run right after boot. Configuration files that somebody edited are kept.
func aptGet(ctx context.Context, sys engine.System, args ...string) error {
	argv := append([]string{"apt-get", "-q", "-o", "DPkg::Lock::Timeout=120",
		"-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"}, args...)
	_, err := hostcmd.RunCommand(ctx, sys, engine.Command{Argv: argv, Env: []string{"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}})
	return err
}

// staleLists tells errors that new lists of packages may cure.
func staleLists(err error) bool {
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok {
		return false
	}
	for _, sign := range []string{"Unable to locate package", "has no installation candidate", "404", "Failed to fetch"} {
		if strings.Contains(failure.Detail, sign) {
			return true
		}
	}
	return false
}

func dpkgInstalled(ctx context.Context, sys engine.System, names []string) (map[string]bool, error) {
	argv := append([]string{"dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", "--"}, names...)
	res, err := sys.Run(ctx, engine.Command{Argv: argv, Env: []string{"LC_ALL=C"}})
	if err != nil {
		return nil, fmt.Errorf("asking dpkg: %w", err)
	}
	if res.Exit > 1 { // 1: some are unknown
		return nil, hostcmd.Failed(argv, res)
	}
	have := map[string]bool{}
	for line := range strings.Lines(res.Stdout) {
		if name, state, _ := strings.Cut(strings.TrimSpace(line), " "); state == "installed" {
			have[name] = true
		}
	}
	return have, nil
}

func dnf() manager {
	run := func(ctx context.Context, sys engine.System, args ...string) error {
		argv := append([]string{"dnf", "-y", "--quiet", "--setopt=install_weak_deps=False"}, args...)
		_, err := hostcmd.RunCommand(ctx, sys, engine.Command{Argv: argv, Env: []string{"LC_ALL=C"}})
		return err
	}
	return rpmManager("dnf", run, dnfOffered)
}

func zypper() manager {
	run := func(ctx context.Context, sys engine.System, args ...string) error {
		argv := append([]string{"zypper", "--non-interactive", "--quiet"}, args...)
		if args[0] == "install" {
			argv = append([]string{"zypper", "--non-interactive", "--quiet", "install", "--no-recommends"}, args[1:]...)
		}
		_, err := hostcmd.RunCommand(ctx, sys, engine.Command{Argv: argv, Env: []string{"LC_ALL=C"}})
		return err
	}
	return rpmManager("zypper", run, zypperOffered)
}

func rpmManager(name string, run func(ctx context.Context, sys engine.System, args ...string) error, offered func(context.Context, engine.System, []string) error) manager {
	return manager{
		name:      name,
		installed: rpmInstalled,
		install: func(ctx context.Context, sys engine.System, names []string) error {
			return run(ctx, sys, append([]string{"install"}, names...)...)
		},
		remove: func(ctx context.Context, sys engine.System, names []string) error {
			return run(ctx, sys, append([]string{"remove"}, names...)...)
		},
		offered: offered,
	}
}

// rpmInstalled asks for each name whether an installed package provides it; one
// query a name, because rpm's answer does not say which question it is for.
func rpmInstalled(ctx context.Context, sys engine.System, names []string) (map[string]bool, error) {
	have := map[string]bool{}
	for _, name := range names {
		argv := []string{"rpm", "--query", "--whatprovides", name}
		res, err := sys.Run(ctx, engine.Command{Argv: argv, Env: []string{"LC_ALL=C"}})
		if err != nil {
			return nil, fmt.Errorf("asking rpm: %w", err)
		}
		have[name] = res.Exit == 0
	}
	return have, nil
}
