package packages

import (
	"context"
	"errors"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// apt is the package manager of Debian, Ubuntu and their derivatives.
type apt struct{ options }

func (apt) name() string { return "apt-get" }

func (apt) sources() []string { return []string{"/etc/apt/sources.list", "/etc/apt/sources.list.d"} }

// get runs apt-get without questions. Configuration files that were edited are kept.
func (a apt) get(ctx context.Context, sys engine.System, args ...string) error {
	argv := append([]string{"apt-get", "-q", "-y", "-o", "Dpkg::Use-Pty=0", "-o", "Acquire::Retries=3",
		"-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"}, args...)
	run := func() error {
		_, err := hostcmd.RunCommand(ctx, sys, engine.Command{Argv: argv, Env: append([]string{"DEBIAN_FRONTEND=noninteractive"}, english...)})
		return err
	}
	err := withLockRetry(ctx, sys, a.lockTimeout, run)
	if failure, ok := errors.AsType[*engine.Failure](err); ok && says(failure, "dpkg was interrupted") {
		// A power cut or a kill has interrupted an installation.
		sys.Progress("finishing an installation that was interrupted")
		if _, err := hostcmd.RunCommand(ctx, sys, engine.Command{Argv: []string{"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"},
			Env: append([]string{"DEBIAN_FRONTEND=noninteractive"}, english...)}); err != nil {
			return err
		}
		err = withLockRetry(ctx, sys, a.lockTimeout, run)
	}
	return err
}

func (a apt) refresh(ctx context.Context, sys engine.System, source string) error {
	args := []string{"update", "-o", "APT::Update::Error-Mode=any"}
	if source != "" {
		args = append(args, "-o", "Dir::Etc::sourcelist="+a.place().source(source), "-o", "Dir::Etc::sourceparts=-", "-o", "APT::Get::List-Cleanup=0")
	}
	return a.get(ctx, sys, args...)
}

func (a apt) install(ctx context.Context, sys engine.System, jobs []job) error {
	return a.fetch(ctx, sys, append(a.flags("install"), specs(jobs, "=")...)...)
}

// fetch runs apt-get. When it reports missing packages, fetch refreshes the lists of
// packages and runs it again: lists are often older than the package source, or missing.
func (a apt) fetch(ctx context.Context, sys engine.System, args ...string) error {
	err := a.get(ctx, sys, args...)
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok || !says(failure, "Unable to locate package", "has no installation candidate", "was not found", "404  Not Found", "Failed to fetch") {
		return err
	}
	// A source that is down does no harm when another source has the packages.
	silent := refresh(ctx, sys, a, "")
	if err := a.get(ctx, sys, args...); err == nil || silent == nil {
		return err
	}
	return silent
}

func (a apt) flags(verb string) []string {
	recommends := "APT::Install-Recommends=false"
	if a.recommends {
		recommends = "APT::Install-Recommends=true"
	}
	out := []string{verb, "-o", recommends}
	if a.downgrade {
		out = append(out, "--allow-downgrades")
	}
	return out
}

// upgrade installs with --only-upgrade, because a plain install marks packages as
// manually installed.
func (a apt) upgrade(ctx context.Context, sys engine.System, jobs []job, everything bool) error {
	if everything {
		return a.fetch(ctx, sys, append(a.flags("upgrade"), "--with-new-pkgs")...)
	}
	return a.fetch(ctx, sys, append(append(a.flags("install"), "--only-upgrade"), targets(jobs)...)...)
}

func (a apt) remove(ctx context.Context, sys engine.System, jobs []job) error {
	args := []string{"remove"}
	if a.purge {
		args = append(args, "--purge")
	}
	if a.autoremove {
		args = append(args, "--auto-remove")
	}
	return a.get(ctx, sys, append(args, targets(jobs)...)...)
}

func (apt) contents(ctx context.Context, sys engine.System, file string) (name, version string, err error) {
	res, err := ask(ctx, sys, 0, "dpkg-deb", "--show", "--showformat=${Package} ${Version}", file)
	if err != nil {
		return "", "", err
	}
	return nameAndVersion(res.Stdout)
}

// newer returns the candidates that apt would choose, with pins and holds.
func (a apt) newer(ctx context.Context, sys engine.System, names []string) (map[string]string, error) {
	if names == nil {
		res, err := ask(ctx, sys, 0, "apt-get", "--simulate", "-q", "upgrade", "--with-new-pkgs")
		return simulated(res.Stdout), err
	}
	res, err := ask(ctx, sys, 0, append([]string{"apt-cache", "policy"}, names...)...)
	return policies(res.Stdout), err
}

// simulated parses lines such as "Inst bash [5.2-1] (5.2-2 Debian:12 [amd64])"; a line
// without the present version is an additional package.
func simulated(answer string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(answer) {
		if f := strings.Fields(line); len(f) >= 4 && f[0] == "Inst" && strings.HasPrefix(f[2], "[") {
			out[f[1]] = strings.TrimPrefix(f[3], "(")
		}
	}
	return out
}

// policies parses the output of apt-cache policy by package.
func policies(answer string) map[string]string {
	out := map[string]string{}
	name, installed := "", ""
	for line := range strings.Lines(answer) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case line[0] != ' ':
			name = strings.TrimSuffix(strings.TrimSpace(line), ":")
		case key == "Installed":
			installed = value
		case key == "Candidate" && installed != "(none)" && value != installed && value != "(none)":
			out[name] = value
		}
	}
	return out
}
