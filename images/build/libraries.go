package build

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"fmt"
	"path"
	"slices"
	"strings"
)

// missingLibraries lists the shared libraries that programs and libraries of the tree
// need and the tree lacks. missingLibraries proves, at build time, that the omitted packages are not
// needed. below are the names of files of the image's base.
func (t tree) missingLibraries(below ...string) error {
	have := map[string]bool{}
	for _, name := range below {
		have[name] = true
	}
	for name := range t {
		have[path.Base(name)] = true
	}
	var missing []string
	for name, n := range t {
		if n.header.Typeflag != tar.TypeReg || !bytes.HasPrefix(n.content, []byte(elf.ELFMAG)) {
			continue
		}
		file, err := elf.NewFile(bytes.NewReader(n.content))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		needed, err := file.ImportedLibraries()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, library := range needed {
			if !have[library] {
				missing = append(missing, name+" needs "+library)
			}
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("the image lacks shared libraries: %s", strings.Join(missing, "; "))
	}
	return nil
}
