package packages

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// sourceLayout has the paths and the format of a package manager's sources and keys.
type sourceLayout struct {
	sources, ending string // directory and end of the files of sources
	keys, mark      string // directory of keys, and what their names begin with
	keyEnding       string
	write           func(r *Repository, keyPath string) (string, error)
}

func (p sourceLayout) source(name string) string { return p.sources + "/" + name + p.ending }

func (p sourceLayout) key(name string) string { return p.keys + "/" + p.mark + name + p.keyEnding }

func (apt) place() sourceLayout {
	return sourceLayout{sources: "/etc/apt/sources.list.d", ending: ".sources", keys: "/etc/apt/keyrings", keyEnding: ".asc", write: deb822}
}

func (dnf) place() sourceLayout {
	return sourceLayout{sources: "/etc/yum.repos.d", ending: ".repo", keys: "/etc/pki/rpm-gpg", mark: "RPM-GPG-KEY-", write: dnfRepo}
}

func (zypper) place() sourceLayout {
	return sourceLayout{sources: "/etc/zypp/repos.d", ending: ".repo", keys: "/etc/pki/rpm-gpg", mark: "RPM-GPG-KEY-", write: zypperRepo}
}

// line is a field of a file; a field without a value is omitted.
type line struct{ key, value string }

// written returns the content of a file with fields and further options.
func written(head, sep string, lines []line, options map[string]string) (string, error) {
	for _, key := range slices.Sorted(maps.Keys(options)) {
		lines = append(lines, line{key, options[key]})
	}
	var b strings.Builder
	b.WriteString("# Written by deployer.\n" + head)
	for _, l := range lines {
		if strings.ContainsAny(l.key+l.value, "\n\r") {
			return "", fmt.Errorf("%s has more than one line", l.key)
		}
		if l.value != "" {
			fmt.Fprintf(&b, "%s%s%s\n", l.key, sep, l.value)
		}
	}
	return b.String(), nil
}

func joined(list []string) string { return strings.Join(list, " ") }

// deb822 is the form of sources.list(5) that can name a key.
func deb822(r *Repository, keyPath string) (string, error) {
	flat := len(r.Suites) > 0 && strings.HasSuffix(r.Suites[0], "/")
	switch {
	case len(r.Suites) == 0:
		return "", errors.New("suites is missing: apt needs it, as in suites: bookworm, or suites: ./ for a source without")
	case len(r.Components) == 0 && !flat:
		return "", errors.New("components is missing: apt needs it, as in components: main")
	case len(r.URL) == 0:
		return "", errors.New("url is missing: apt knows no mirrorlist or metalink")
	}
	types, enabled, trusted := joined(r.Types), "", ""
	if types == "" {
		types = "deb"
	}
	if !r.Enabled {
		enabled = "no"
	}
	if r.Trusted {
		trusted = "yes"
	}
	return written("", ": ", []line{
		{"X-Description", r.Description}, {"Enabled", enabled}, {"Types", types}, {"URIs", joined(r.URL)}, {"Suites", joined(r.Suites)},
		{"Components", joined(r.Components)}, {"Architectures", joined(r.Architectures)}, {"Trusted", trusted}, {"Signed-By", keyPath},
	}, r.Options)
}

func dnfRepo(r *Repository, keyPath string) (string, error) { return ini(r, keyPath) }

// zypperRepo sets autorefresh, without which zypper never refreshes the lists by itself.
func zypperRepo(r *Repository, keyPath string) (string, error) {
	return ini(r, keyPath, line{"autorefresh", "1"})
}

// ini is the form of dnf.conf(5), which zypper shares.
func ini(r *Repository, keyPath string, more ...line) (string, error) {
	description, gpgkey := r.Description, ""
	if description == "" {
		description = r.Name
	}
	if keyPath != "" {
		gpgkey = "file://" + keyPath
	}
	flag := map[bool]string{true: "1", false: "0"}
	return written("["+r.Name+"]\n", "=", append([]line{
		{"name", description}, {"baseurl", joined(r.URL)}, {"mirrorlist", r.Mirrorlist}, {"metalink", r.Metalink},
		{"enabled", flag[r.Enabled]}, {"gpgcheck", flag[!r.Trusted]}, {"gpgkey", gpgkey},
	}, more...), r.Options)
}
