package packages

import (
	"context"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// zypper is the package manager of SUSE's distributions.
type zypper struct{ options }

func (zypper) name() string { return "zypper" }

func (zypper) sources() []string { return []string{"/etc/zypp/repos.d"} }

func (z zypper) run(ctx context.Context, sys engine.System, args ...string) error {
	argv := append([]string{"zypper", "--non-interactive", "--quiet"}, args...)
	return withLockRetry(ctx, sys, z.lockTimeout, func() error {
		_, err := hostcmd.RunCommand(ctx, sys, engine.Command{Argv: argv, Env: english})
		return err
	})
}

func (z zypper) refresh(ctx context.Context, sys engine.System, source string) error {
	if source != "" {
		return z.run(ctx, sys, "refresh", source)
	}
	return z.run(ctx, sys, "refresh")
}

func (z zypper) flags(verb string) []string {
	out := []string{verb, "--auto-agree-with-licenses", "--no-recommends"}
	if z.recommends {
		out[2] = "--recommends"
	}
	return out
}

func (z zypper) install(ctx context.Context, sys engine.System, jobs []job) error {
	args := z.flags("install")
	if z.downgrade {
		args = append(args, "--oldpackage")
	}
	if slices.ContainsFunc(jobs, func(j job) bool { return j.file != "" }) {
		args = append(args, "--allow-unsigned-rpm")
	}
	return z.run(ctx, sys, append(args, specs(jobs, "=")...)...)
}

func (z zypper) upgrade(ctx context.Context, sys engine.System, jobs []job, everything bool) error {
	if everything {
		return z.run(ctx, sys, z.flags("update")...)
	}
	return z.run(ctx, sys, append(z.flags("update"), targets(jobs)...)...)
}

func (z zypper) remove(ctx context.Context, sys engine.System, jobs []job) error {
	args := []string{"remove"}
	if z.autoremove {
		args = append(args, "--clean-deps")
	}
	return z.run(ctx, sys, append(args, targets(jobs)...)...)
}

func (zypper) installed(ctx context.Context, sys engine.System, names []string) (versions, error) {
	return rpmInstalled(ctx, sys, names)
}

func (zypper) contents(ctx context.Context, sys engine.System, file string) (name, version string, err error) {
	return rpmContents(ctx, sys, file)
}

// newer parses the table of zypper list-updates, which accepts no names.
func (z zypper) newer(ctx context.Context, sys engine.System, names []string) (map[string]string, error) {
	res, err := ask(ctx, sys, 0, "zypper", "--non-interactive", "--quiet", "list-updates")
	if err != nil {
		return nil, err
	}
	out := listUpdates(res.Stdout)
	for name := range out {
		if names != nil && !slices.Contains(names, name) {
			delete(out, name)
		}
	}
	return out, nil
}

// listUpdates parses rows such as "v | main | bash | 5.2-1 | 5.2-2 | x86_64".
func listUpdates(answer string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(answer) {
		if f := strings.Split(line, "|"); len(f) == 6 && strings.TrimSpace(f[0]) == "v" {
			out[strings.TrimSpace(f[2])] = strings.TrimSpace(f[4])
		}
	}
	return out
}
