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

// manager is how one family of distributions is asked. All of it goes through
// command lines that have been stable for decades.
type manager interface {
	name() string
	// sources are the files and directories that say where packages come from.
	sources() []string
	// place is where a source of packages is written down.
	place() sourceLayout
	// refresh reads the lists of packages again; those of one source only when
	// it is named.
	refresh(ctx context.Context, sys engine.System, source string) error
	installed(ctx context.Context, sys engine.System, names []string) (versions, error)
	// newer tells which of the named installed packages have a newer version,
	// and which; of all packages without names.
	newer(ctx context.Context, sys engine.System, names []string) (map[string]string, error)
	// contents tells name and version of the package in a file.
	contents(ctx context.Context, sys engine.System, file string) (name, version string, err error)
	install(ctx context.Context, sys engine.System, jobs []job) error
	// upgrade upgrades the packages of the jobs; everything is set when these
	// are all that can be upgraded.
	upgrade(ctx context.Context, sys engine.System, jobs []job, everything bool) error
	remove(ctx context.Context, sys engine.System, jobs []job) error
	// offered returns nil when the sources answer and have all of these; see Offered.
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

// english makes programs speak the language that their answers are read in.
var english = []string{"LC_ALL=C"}

// ask runs a query of a package database. Up to exit code 1 means that some
// names are unknown.
func ask(ctx context.Context, sys engine.System, most int, argv ...string) (engine.CommandResult, error) {
	res, err := sys.Run(ctx, engine.Command{Argv: argv, Env: english, MaxOutput: maxAnswer})
	if err != nil {
		return res, fmt.Errorf("asking %s: %w", argv[0], err)
	}
	if res.Exit > most {
		return res, hostcmd.Failed(argv, res)
	}
	return res, nil
}

// maxAnswer bounds an answer in bytes: that of a host with ten thousand packages.
const maxAnswer = 16 << 20

// contents looks into a package file. One that is not there may be made by an
// earlier step that a dry run has not done.
func contents(ctx context.Context, sys engine.System, m manager, file string) (choices []string, version string, err error) {
	if _, err := os.Stat(sys.Path(file)); errors.Is(err, os.ErrNotExist) {
		return []string{filepath.Base(file)}, "", nil
	}
	name, version, err := m.contents(ctx, sys, file)
	if err != nil {
		return nil, "", fmt.Errorf("looking into the package file %s: %w", file, err)
	}
	return []string{name}, version, nil
}

// nameAndVersion reads "name version".
func nameAndVersion(answer string) (name, version string, err error) {
	name, version, ok := strings.Cut(strings.TrimSpace(answer), " ")
	if !ok {
		return "", "", fmt.Errorf("the answer %q has no name and version", answer)
	}
	return name, version, nil
}

// specs are the jobs in the words of a manager that puts sep between name and
// version.
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
