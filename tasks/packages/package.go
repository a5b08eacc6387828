// Package packages has the module for packages of the host's distribution.
package packages

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"deployer/engine"
)

// Package makes sure that packages are there, or are not.
type Package struct {
	Names []string `yaml:"names" required:"true" doc:"names in the host's distribution; \"a|b\" is satisfied by either, and installs the first"`
	State string   `yaml:"state" doc:"present or absent; default present"`
}

var _ engine.Module = (*Package)(nil)

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_:-]*$`)

func (p *Package) valid() error {
	if p.State != "" && p.State != "present" && p.State != "absent" {
		return fmt.Errorf("state is %q, want present or absent", p.State)
	}
	for _, name := range p.Names {
		for _, one := range strings.Split(name, "|") {
			if !validName.MatchString(one) {
				return fmt.Errorf("%q is not the name of a package", one)
			}
		}
	}
	return nil
}

// todo lists the packages to install or to remove.
func (p *Package) todo(installed map[string]bool) []string {
	var out []string
	for _, name := range p.Names {
		choices := strings.Split(name, "|")
		has := func(one string) bool { return installed[one] }
		switch {
		case p.State != "absent" && !slices.ContainsFunc(choices, has):
			out = append(out, choices[0])
		case p.State == "absent":
			out = append(out, slices.DeleteFunc(choices, func(one string) bool { return !installed[one] })...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *Package) all() []string {
	var out []string
	for _, name := range p.Names {
		out = append(out, strings.Split(name, "|")...)
	}
	return out
}

// Check asks the package database; no package source is needed.
func (p *Package) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if err := p.valid(); err != nil {
		return engine.Change{}, err
	}
	if len(p.Names) == 0 {
		return engine.NoChange(nil), nil
	}
	m, err := detect(sys)
	if err != nil {
		return engine.Change{}, err
	}
	installed, err := m.installed(ctx, sys, p.all())
	if err != nil {
		return engine.Change{}, err
	}
	action := "install"
	if p.State == "absent" {
		action = "remove"
	}
	var effects []engine.Effect
	for _, name := range p.todo(installed) {
		effects = append(effects, engine.Effect{Kind: engine.EffectPackage, Target: name, Action: action})
	}
	return engine.Change{Needed: len(effects) > 0, Effects: effects}, nil
}

// Apply installs or removes, and looks that it did.
func (p *Package) Apply(ctx context.Context, sys engine.System, change engine.Change) (engine.Output, error) {
	m, err := detect(sys)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range change.Effects {
		names = append(names, e.Target)
	}
	if p.State == "absent" {
		sys.Progress("removing " + strings.Join(names, " "))
		err = m.remove(ctx, sys, names)
	} else {
		sys.Progress("installing " + strings.Join(names, " "))
		err = m.install(ctx, sys, names)
	}
	if err != nil {
		return nil, unreachable(err, names)
	}
	installed, err := m.installed(ctx, sys, p.all())
	if err != nil {
		return nil, err
	}
	if left := p.todo(installed); len(left) > 0 {
		return nil, fmt.Errorf("%s succeeded, but the package database says otherwise of %s", m.name, strings.Join(left, ", "))
	}
	return engine.Output{"packages": names}, nil
}

// signs in the words of apt, dnf and zypper that packages could not be fetched.
var unreachableSigns = []string{
	"Could not resolve", "Temporary failure resolving", "Could not connect", "Failed to fetch", "Unable to connect",
	"Unable to locate package", "has no installation candidate", // apt without any source
	"Cannot download repomd.xml", "Could not resolve host", "Failed to download metadata", "There are no enabled repositories",
	"No more mirrors to try", "Download (curl) error", "No repositories defined", "Unable to find a match", "No provider of",
}

// unreachable adds what to do when no package source answered.
func unreachable(err error, names []string) error {
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok {
		return err
	}
	for _, sign := range unreachableSigns {
		if strings.Contains(failure.Detail, sign) {
			return &engine.Failure{
				Message: fmt.Sprintf("no package source of this host offers %s: give it a source that can be reached, or install the packages in its image", strings.Join(names, " ")),
				Detail:  failure.Detail,
			}
		}
	}
	return err
}
