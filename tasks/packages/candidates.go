package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// scratch is the directory for temporary lists of packages.
const scratch = "/var/lib/deployer/tmp"

// Missing lists the wanted packages that are not installed, sorted. As in [Package],
// "a|b" is satisfied by either; the first is listed.
func Missing(ctx context.Context, sys engine.System, names []string) ([]string, error) {
	p := &Package{Name: names}
	wants, err := p.wants()
	if err != nil || len(names) == 0 {
		return nil, err
	}
	m, err := detect(sys, p.options())
	if err != nil {
		return nil, err
	}
	jobs, err := p.jobs(ctx, sys, m, wants)
	return targets(jobs), err
}

// Offered returns nil when the host's package sources answer now and offer every name
// with its dependencies. It installs nothing and does not change the host's lists of
// packages.
func Offered(ctx context.Context, sys engine.System, names []string) error {
	m, err := detect(sys, (&Package{}).options())
	if err != nil {
		return err
	}
	return noSource(m.offered(ctx, sys, names), names)
}

// Reason returns, in one line, the package manager's reason why packages are not
// available.
func Reason(err error) string {
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok {
		return err.Error()
	}
	lines := strings.Split(failure.Detail, "\n")
	for _, mark := range []string{"E:", "Error:", "W:"} {
		if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), mark) }); i >= 0 {
			return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(lines[i]), mark))
		}
	}
	return failure.Message
}

// offered reads the lists of all sources into a temporary directory and lets apt solve
// the installation from them.
func (a apt) offered(ctx context.Context, sys engine.System, names []string) error {
	if err := os.MkdirAll(sys.Path(scratch), 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(sys.Path(scratch), "apt-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(path.Join(dir, sub), 0o700); err != nil {
			return err
		}
	}
	own := path.Join(scratch, path.Base(dir))
	// The option makes apt read as root: apt's own user cannot enter the directory.
	options := []string{
		"-o", "Dir::State::lists=" + own + "/lists", "-o", "Dir::Cache=" + own, "-o", "APT::Sandbox::User=root",
		"-o", "Acquire::http::Timeout=10", "-o", "Acquire::https::Timeout=10", "-o", "Acquire::Retries=0",
	}
	// A source that is down does no harm when another source has the packages.
	silent := a.get(ctx, sys, slices.Concat(options, []string{"update", "-o", "APT::Update::Error-Mode=any"})...)
	err = a.get(ctx, sys, slices.Concat(options, []string{"install", "--simulate", "--no-install-recommends"}, names)...)
	if err != nil && silent != nil {
		return silent
	}
	return err
}

// offered queries the available package that provides each name; an output without a
// line means none.
func (dnf) offered(ctx context.Context, sys engine.System, names []string) error {
	for _, name := range names {
		argv := []string{"dnf", "--quiet", "repoquery", "--available", "--whatprovides", name}
		out, err := hostcmd.RunCommand(ctx, sys, engine.Command{Argv: argv, Env: []string{"LC_ALL=C"}})
		if err != nil {
			return err
		}
		if strings.TrimSpace(out) == "" {
			return &engine.Failure{Message: "no package " + name, Detail: fmt.Sprintf("Error: Unable to find a match: %s", name)}
		}
	}
	return nil
}

func (zypper) offered(ctx context.Context, sys engine.System, names []string) error {
	argv := append([]string{"zypper", "--non-interactive", "--quiet", "install", "--dry-run", "--no-recommends"}, names...)
	_, err := hostcmd.RunCommand(ctx, sys, engine.Command{Argv: argv, Env: []string{"LC_ALL=C"}})
	return err
}
