package packages

import (
	"context"
	"fmt"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// dnf is the package manager of Red Hat's distributions and their derivatives. The
// program dnf waits for another dnf by itself, without output; this type waits for
// the lock of rpm.
type dnf struct{ options }

func (dnf) name() string { return "dnf" }

func (dnf) sources() []string { return []string{"/etc/yum.repos.d"} }

func (d dnf) run(ctx context.Context, sys engine.System, args ...string) error {
	argv := append([]string{"dnf", "-y", "--quiet", fmt.Sprintf("--setopt=install_weak_deps=%t", d.recommends),
		fmt.Sprintf("--setopt=clean_requirements_on_remove=%t", d.autoremove)}, args...)
	return withLockRetry(ctx, sys, d.lockTimeout, func() error {
		_, err := hostcmd.RunCommand(ctx, sys, engine.Command{Argv: argv, Env: english})
		return err
	})
}

func (d dnf) refresh(ctx context.Context, sys engine.System, source string) error {
	if source != "" {
		return d.run(ctx, sys, "makecache", "--refresh", "--disablerepo=*", "--enablerepo="+source)
	}
	return d.run(ctx, sys, "makecache", "--refresh")
}

func (d dnf) install(ctx context.Context, sys engine.System, jobs []job) error {
	return d.run(ctx, sys, append([]string{"install"}, specs(jobs, "-")...)...)
}

func (d dnf) upgrade(ctx context.Context, sys engine.System, jobs []job, everything bool) error {
	if everything {
		return d.run(ctx, sys, "upgrade")
	}
	return d.run(ctx, sys, append([]string{"upgrade"}, targets(jobs)...)...)
}

func (d dnf) remove(ctx context.Context, sys engine.System, jobs []job) error {
	return d.run(ctx, sys, append([]string{"remove"}, targets(jobs)...)...)
}

func (dnf) installed(ctx context.Context, sys engine.System, names []string) (versions, error) {
	return rpmInstalled(ctx, sys, names)
}

func (dnf) contents(ctx context.Context, sys engine.System, file string) (name, version string, err error) {
	return rpmContents(ctx, sys, file)
}

func (d dnf) newer(ctx context.Context, sys engine.System, names []string) (map[string]string, error) {
	argv := append([]string{"dnf", "-y", "--quiet", "check-update"}, names...)
	res, err := sys.Run(ctx, engine.Command{Argv: argv, Env: english, MaxOutput: maxAnswer})
	if err != nil {
		return nil, fmt.Errorf("querying dnf: %w", err)
	}
	const hasUpdates = 100
	if res.Exit != 0 && res.Exit != hasUpdates {
		return nil, hostcmd.Failed(argv, res)
	}
	return checkUpdate(res.Stdout), nil
}

// checkUpdate parses lines such as "bash.x86_64 5.2-2.el9 baseos". The lines behind a
// heading about obsoleted packages are not updates.
func checkUpdate(answer string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(answer) {
		if strings.HasPrefix(line, "Obsoleting") {
			break
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		if dot := strings.LastIndexByte(f[0], '.'); dot > 0 {
			out[f[0][:dot]] = f[1]
		}
	}
	return out
}
