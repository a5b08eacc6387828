package packages

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"deployer/engine"
)

// Restorer restores packages to their earlier version, as long as a package source
// offers it. Restorer leaves dependencies that were installed with a package, and
// configuration, because it may have been edited, and purging can delete data.
var Restorer = &engine.Restorer{Effect: engine.EffectPackage, Read: lookPackage, Restore: restorePackage, Irreversible: notOffered,
	Remainder: "its configuration files and packages that came along stay"}

const keyVersion = "version"

func lookPackage(ctx context.Context, sys engine.System, name string) (engine.State, error) {
	m, err := detect(sys, (&Package{}).options())
	if err != nil {
		return nil, err
	}
	installed, err := m.installed(ctx, sys, []string{name})
	return kept(installed, name), err
}

// kept is the part of a package's state that can be restored.
func kept(installed versions, name string) engine.State {
	if !installed.has(name) || installed[name].virtual {
		return nil
	}
	return engine.State{keyVersion: installed[name].shown()}
}

// keepAll records the backups of the packages that the jobs will change.
func keepAll(ctx context.Context, sys engine.System, m manager, jobs []job) error {
	installed, err := m.installed(ctx, sys, targets(jobs))
	if err != nil {
		return err
	}
	for _, j := range jobs {
		if err := sys.BackupState("package", j.name, kept(installed, j.name)); err != nil {
			return err
		}
		if !j.purge {
			continue
		}
		if err := sys.MarkIrreversible("configuration of package "+j.name, "it was removed with the package"); err != nil {
			return err
		}
	}
	return nil
}

func restorePackage(ctx context.Context, sys engine.System, name string, _, to engine.State) error {
	m, err := detect(sys, (&Package{AllowDowngrade: true}).options())
	if err != nil {
		return err
	}
	if len(to) == 0 {
		return m.remove(ctx, sys, []job{{verb: "remove", name: name}})
	}
	err = m.install(ctx, sys, []job{{verb: "install", name: name, version: to[keyVersion]}})
	if failure, ok := errors.AsType[*engine.Failure](err); ok && (says(failure, noSourceSigns...) || says(failure, noVersionSigns...)) {
		return &engine.IrreversibleError{Reason: noVersion(name, to)}
	}
	return err
}

// noVersionSigns are parts of the messages of apt, dnf and zypper for a version that no
// source offers.
var noVersionSigns = []string{"was not found", "No package ", "No match", "Nothing provides", "not found in package names"}

func noVersion(name string, to engine.State) string {
	return fmt.Sprintf("no package source of this host offers %s %s any more", name, to[keyVersion])
}

// notOffered looks for the old version in the host's lists of packages. The lists may be
// older than the sources, so a version that is found may still be unavailable.
func notOffered(ctx context.Context, sys engine.System, name string, _, to engine.State) (string, error) {
	if len(to) == 0 {
		return "", nil
	}
	m, err := detect(sys, (&Package{}).options())
	if err != nil {
		return "", err
	}
	argv := map[string][]string{
		"apt-get": {"apt-cache", "madison", name},
		"dnf":     {"dnf", "--quiet", "repoquery", "--available", "--showduplicates", name},
		"zypper":  {"zypper", "--non-interactive", "--quiet", "search", "--details", "--match-exact", name},
	}[m.name()]
	res, err := ask(ctx, sys, 1, argv...)
	if err != nil || lists(res.Stdout, to[keyVersion]) {
		return "", err
	}
	return noVersion(name, to), nil
}

// lists reports whether an output contains a version: in a column of its own, or as
// NAME-0:VERSION.ARCH.
func lists(text, version string) bool {
	columns := strings.FieldsFunc(text, func(r rune) bool { return r == '|' || unicode.IsSpace(r) })
	return slices.ContainsFunc(columns, func(c string) bool {
		return c == version || strings.Contains(c, "-"+version+".") || strings.Contains(c, ":"+version+".")
	})
}
