package build

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// deb is apt's record of a Debian package.
type deb struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Arch    string `json:"arch"`
	// Source is the source package, where it has another name.
	Source   string   `json:"source,omitempty"`
	SHA256   string   `json:"sha256"`
	Depends  []string `json:"depends"`
	Provides []string `json:"provides"`
}

// omitted are packages for the package manager, or with documents only. An image has no
// package database, so nothing in it uses them; the check of shared libraries (see
// missingLibraries) proves that for each build.
func omitted(name string) bool {
	return slices.Contains([]string{
		"adduser", "debconf", "dpkg", "gcc-12-base", "gcc-14-base", "init-system-helpers",
		"iproute2", "lsb-base", "passwd", "perl-base", "sysvinit-utils", "ucf",
	}, name)
}

// provider returns the package that stands for a virtual one in images: of its providers the
// one that Debian installs on every machine. Other names stay as they are.
func provider(name string) string {
	if name == "awk" {
		return "mawk"
	}
	return name
}

// closure returns the roots and all their dependencies, sorted by name. closure calls show
// once for each level of the tree.
func closure(roots []string, show func(names []string) (map[string]deb, error)) ([]deb, error) {
	found := map[string]deb{}
	wanted := slices.Clone(roots)
	for len(wanted) > 0 {
		level, err := show(wanted)
		if err != nil {
			return nil, err
		}
		for _, name := range wanted {
			if _, ok := level[name]; !ok {
				return nil, fmt.Errorf("no Debian package %s in apt's lists: run apt-get update, and check the sources", name)
			}
		}
		maps.Copy(found, level)
		wanted = nextLevel(found, level)
	}
	sorted := slices.Collect(maps.Values(found))
	slices.SortFunc(sorted, func(a, b deb) int { return strings.Compare(a.Name, b.Name) })
	return sorted, nil
}

// nextLevel lists the dependencies of level that are neither found nor provided by a
// found package.
func nextLevel(found, level map[string]deb) []string {
	next := map[string]bool{}
	for _, d := range level {
		for _, dependency := range d.Depends {
			dependency = provider(dependency)
			if _, ok := found[dependency]; ok || omitted(dependency) || provided(found, dependency) {
				continue
			}
			next[dependency] = true
		}
	}
	return slices.Sorted(maps.Keys(next))
}

func provided(found map[string]deb, name string) bool {
	for _, d := range found {
		if slices.Contains(d.Provides, name) {
			return true
		}
	}
	return false
}

func showPackages(ctx context.Context, apt []string, arch string, names []string) (map[string]deb, error) {
	args := append(slices.Clone(apt), "show", "--no-all-versions")
	for _, n := range names {
		args = append(args, n+":"+arch)
	}
	out, err := run(ctx, "", nil, "apt-cache", args...)
	if err != nil {
		return nil, err
	}
	packages := map[string]deb{}
	for stanza := range bytes.SplitSeq(out, []byte("\n\n")) {
		if d := parseStanza(stanza); d.Name != "" {
			packages[d.Name] = d
		}
	}
	return packages, nil
}

// parseStanza parses one record of Debian's control format.
func parseStanza(stanza []byte) deb {
	var d deb
	lines := bufio.NewScanner(bytes.NewReader(stanza))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		field, value, found := strings.Cut(lines.Text(), ": ")
		if !found {
			continue
		}
		switch field {
		case "Package":
			d.Name = value
		case "Version":
			d.Version = value
		case "Architecture":
			d.Arch = value
		case "Source":
			d.Source, _, _ = strings.Cut(value, " ") // without a version in parentheses
		case "SHA256":
			d.SHA256 = value
		case "Depends", "Pre-Depends":
			d.Depends = append(d.Depends, relationNames(value)...)
		case "Provides":
			d.Provides = append(d.Provides, relationNames(value)...)
		}
	}
	return d
}

// relationNames returns the package names of a dependency field; of alternatives the
// first one, as apt does.
func relationNames(field string) []string {
	var names []string
	for relation := range strings.SplitSeq(field, ",") {
		first, _, _ := strings.Cut(relation, "|")
		if name := relationName.FindString(strings.TrimSpace(first)); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// relationName matches the name before a version or architecture clause.
var relationName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]*`)
