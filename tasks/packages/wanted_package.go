package packages

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

var (
	validName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_:-]*$`)
	validVersion = regexp.MustCompile(`^[A-Za-z0-9.+:~^_*-]+$`)
)

// want is one entry of a list of packages.
type want struct {
	choices []string // names of which one is enough; of a file the name inside it
	version string   // empty for any; may have *
	file    string   // path of a package file on the host
}

// all is the want for all installed packages.
const all = "*"

// wants parses the names.
func (p *Package) wants() ([]want, error) {
	var out []want
	for _, entry := range p.Name {
		w, err := parseWant(entry)
		if err != nil {
			return nil, err
		}
		if entry == all && p.State != "latest" {
			return nil, errors.New(`name "*" is for state latest`)
		}
		if w.version != "" && p.State == "latest" {
			return nil, fmt.Errorf("%q wants a version, and state latest another one", entry)
		}
		out = append(out, w)
	}
	if everything(out) && len(out) > 1 {
		return nil, errors.New(`name "*" stands for all packages: leave the others out`)
	}
	return out, nil
}

func parseWant(entry string) (want, error) {
	if filepath.IsAbs(entry) {
		return want{file: entry}, nil
	}
	if entry == all {
		return want{choices: []string{all}}, nil
	}
	name, version, pinned := strings.Cut(entry, "=")
	if pinned && !validVersion.MatchString(version) {
		return want{}, fmt.Errorf("%q is not a version of a package", version)
	}
	w := want{choices: strings.Split(name, "|"), version: version}
	for _, one := range w.choices {
		if !validName.MatchString(one) {
			return want{}, fmt.Errorf("%q is not the name of a package", one)
		}
	}
	return w, nil
}

func everything(wants []want) bool {
	return slices.ContainsFunc(wants, func(w want) bool { return slices.Equal(w.choices, []string{all}) })
}

func names(wants []want) []string {
	var out []string
	for _, w := range wants {
		if !slices.Contains(w.choices, all) {
			out = append(out, w.choices...)
		}
	}
	return out
}

// versions has the states of the queried packages.
type versions map[string]state

// state is the state of one package.
type state struct {
	// spellings of the version, with and without epoch and release; the first
	// is for people. Empty for a package of which only configuration is left.
	spellings []string
	leftovers bool // configuration files of a removed package
	virtual   bool // another package provides it, so it cannot be removed
}

func (v versions) has(name string) bool { return len(v[name].spellings) > 0 }

func (s state) shown() string {
	if len(s.spellings) == 0 {
		return ""
	}
	return s.spellings[0]
}

// is reports whether the version matches a wanted one, which may have *.
func (s state) is(version string) bool {
	return slices.ContainsFunc(s.spellings, func(have string) bool {
		ok, err := path.Match(version, have)
		return ok && err == nil
	})
}

// met returns the satisfied choice; empty when there is none.
func (w want) met(installed versions) string {
	for _, one := range w.choices {
		if installed.has(one) && (w.version == "" || installed[one].is(w.version)) {
			return one
		}
	}
	return ""
}
