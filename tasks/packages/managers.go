package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// manager is the interface to the package manager of a family of distributions. All
// implementations use command lines that have been stable for decades.
type manager interface {
	name() string
	// sources returns the files and directories that define package sources.
	sources() []string
	// place returns the file that defines a source.
	place() sourceLayout
	// refresh refreshes the lists of packages; only those of one source when one is named.
	refresh(ctx context.Context, sys engine.System, source string) error
	installed(ctx context.Context, sys engine.System, names []string) (versions, error)
	// newer returns the newer version by package, for the named installed packages or,
	// without names, for all.
	newer(ctx context.Context, sys engine.System, names []string) (map[string]string, error)
	// contents returns name and version of a package file.
	contents(ctx context.Context, sys engine.System, file string) (name, version string, err error)
	install(ctx context.Context, sys engine.System, jobs []job) error
	// upgrade upgrades the packages of the jobs; everything is true when these are all
	// packages with an upgrade.
	upgrade(ctx context.Context, sys engine.System, jobs []job, everything bool) error
	remove(ctx context.Context, sys engine.System, jobs []job) error
	// offered returns nil when the sources answer and offer all names; see Offered.
	offered(ctx context.Context, sys engine.System, names []string) error
}

func detect(sys engine.System, o options) (manager, error) {
	for _, c := range []struct {
		program string
		manager manager
	}{{"/usr/bin/apt-get", apt{o}}, {"/usr/bin/dnf", dnf{o}}, {"/usr/bin/zypper", zypper{o}}} {
		if _, err := os.Stat(sys.Path(c.program)); err == nil {
			return c.manager, nil
		}
	}
	return nil, errors.New("this host has none of apt-get, dnf and zypper: install its packages by other means and leave the list of packages empty")
}

// english is the environment in which programs print the messages that the parsers know.
var english = []string{"LC_ALL=C"}

// ask runs a query of a package database. Exit code 1 means that names are unknown, and
// is no error.
func ask(ctx context.Context, sys engine.System, most int, argv ...string) (engine.CommandResult, error) {
	res, err := sys.Run(ctx, engine.Command{Argv: argv, Env: english, MaxOutput: maxAnswer})
	if err != nil {
		return res, fmt.Errorf("querying %s: %w", argv[0], err)
	}
	if res.Exit > most {
		return res, hostcmd.Failed(argv, res)
	}
	return res, nil
}

// maxAnswer is the maximum size of an output in bytes: enough for a host with ten
// thousand packages.
const maxAnswer = 16 << 20

// contents reads name and version from a package file. A missing file is no error in a
// dry run, as an earlier step may create it.
func contents(ctx context.Context, sys engine.System, m manager, file string) (choices []string, version string, err error) {
	if _, err := os.Stat(sys.Path(file)); errors.Is(err, os.ErrNotExist) {
		return []string{filepath.Base(file)}, "", nil
	}
	name, version, err := m.contents(ctx, sys, file)
	if err != nil {
		return nil, "", fmt.Errorf("reading the package file %s: %w", file, err)
	}
	return []string{name}, version, nil
}

// nameAndVersion parses "name version".
func nameAndVersion(answer string) (name, version string, err error) {
	name, version, ok := strings.Cut(strings.TrimSpace(answer), " ")
	if !ok {
		return "", "", fmt.Errorf("the output %q has no name and version", answer)
	}
	return name, version, nil
}

// specs returns the jobs as arguments of a manager that has sep between name and version.
func specs(jobs []job, sep string) []string {
	var out []string
	for _, j := range jobs {
		switch {
		case j.file != "":
			out = append(out, j.file)
		case j.version != "":
			out = append(out, j.name+sep+j.version)
		default:
			out = append(out, j.name)
		}
	}
	return out
}
