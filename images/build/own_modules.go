package build

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/images/imagefile"
)

// ownModule returns a module set that an image file pins itself.
func ownModule(f imagefile.File, name string) (module, error) {
	set := f.Modules[name]
	dir := set.Directory
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(f.Dir, dir)
	}
	extra := &Extra{Name: name}
	for file, content := range map[string]*[]byte{"go.mod": &extra.GoMod, "go.sum": &extra.GoSum} {
		var err error
		if *content, err = os.ReadFile(filepath.Join(dir, file)); err != nil {
			return module{}, fmt.Errorf("image %s: modules: %s: %w", f.Name, name, err)
		}
	}
	m := module{name: name, path: set.Path, tags: strings.Join(set.Tags, ","), extra: extra}
	var flags []string
	for _, variable := range slices.Sorted(maps.Keys(set.Variables)) {
		flags = append(flags, linkText(variable, set.Variables[variable]))
	}
	m.ldflags = strings.Join(flags, " ")
	return m, nil
}

// linkText returns the linker's option that sets a variable. The go command splits options at
// spaces outside of quotes.
func linkText(variable, text string) string {
	option := variable + "=" + text
	if strings.Contains(option, " ") {
		option = "'" + option + "'"
	}
	return "-X " + option
}

// archiveKey is the key of the files of the set's project: two image files may have different
// sets of one name.
func (m module) archiveKey() string {
	if m.extra == nil {
		return m.name
	}
	return m.name + " " + m.path + " " + keyOf(string(m.extra.GoMod), string(m.extra.GoSum))
}
