package imagefile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// moduleSets are the Go module sets of the project; pause and shim have programs only.
var moduleSets = []string{"kubernetes", "kubernetes-tests", "etcd", "coredns", "containerd", "cni-plugins", "calico", "pause", "shim"}

// linkVariable matches a variable of a package as the linker's option -X names it. The go command
// splits the linker's options at spaces, so a variable has none; a text may have some, in quotes.
var linkVariable = regexp.MustCompile(`^[^ ='"]+\.[A-Za-z_][A-Za-z0-9_]*$`)

// checkModules returns the errors of the module sets and of the keys that name one.
func (f File) checkModules() []error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(f.Modules)) {
		m := f.Modules[name]
		if !names.MatchString(name) || slices.Contains(moduleSets, name) {
			wrong("modules: %q: use lower-case letters, digits, dots and dashes, and no name of a set of the project", name)
		}
		for _, variable := range slices.Sorted(maps.Keys(m.Variables)) {
			if !linkVariable.MatchString(variable) || strings.ContainsAny(m.Variables[variable], "'\"") || strings.ContainsFunc(m.Variables[variable], unicode.IsControl) {
				wrong("modules: %s: variables: %q: write PACKAGE.VARIABLE and a text of one line without quotes", name, variable)
			}
		}
		for _, tag := range m.Tags {
			if tag == "" || strings.ContainsAny(tag, " ,-") {
				wrong("modules: %s: tags: %q is no build tag", name, tag)
			}
		}
	}
	for _, b := range f.Binaries {
		if !f.hasSet(b.From) {
			wrong("binaries: from: no Go module set %q; there are %s", b.From, strings.Join(f.sets(), ", "))
		}
	}
	for _, e := range f.Files {
		switch m, own := f.Modules[e.From]; {
		case e.From == "":
		case !f.hasSet(e.From) || e.From == "pause" || e.From == "shim":
			wrong("files: %s: from: no Go module set %q; there are %s", e.Path, e.From, strings.Join(f.sets(), ", "))
		case own && m.Path == "":
			wrong("files: %s: from: module set %s has no path: name the module that has the files", e.Path, e.From)
		}
	}
	return problems
}

// sets returns the names of the module sets that the file can use.
func (f File) sets() []string {
	return append(slices.Clone(moduleSets), slices.Sorted(maps.Keys(f.Modules))...)
}

func (f File) hasSet(name string) bool { return slices.Contains(f.sets(), name) }
