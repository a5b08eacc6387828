package imagefile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// names are the names of images in the graph.
var names = regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*$`)

// check returns the errors of the rules that the types of the file cannot express.
func (f File) check() error {
	var problems []error
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if !names.MatchString(f.Name) || f.Name == Scratch {
		wrong("name %q: use lower-case letters, digits, dots and dashes, and not the word scratch", f.Name)
	}
	versions := 0
	for _, v := range []string{f.Version, f.VersionOfPackage, f.VersionOfArtifact} {
		if v != "" {
			versions++
		}
	}
	if versions > 1 {
		wrong("version, version_of_package and version_of_artifact exclude each other: keep one")
	}
	if f.Base == f.Name {
		wrong("base %q is the image itself", f.Base)
	}
	if f.User != "" && !numericUser.MatchString(f.User) {
		wrong("user %q: write numbers, for example 65532:65532", f.User)
	}
	for _, p := range f.Packages {
		problems = append(problems, checkPackage(p))
	}
	problems = append(problems, f.checkModules()...)
	for _, b := range f.Binaries {
		problems = append(problems, checkPath("binaries", b.Path))
	}
	for _, e := range f.Files {
		problems = append(problems, e.check())
	}
	for _, t := range f.Tests {
		if len(t.Command) == 0 {
			wrong("test %q: command is empty", t.Name)
		}
		if t.StillRunning && (t.Exit != 0 || t.Output != "") {
			wrong("test %q: still_running excludes exit and output", t.Name)
		}
		if _, err := regexp.Compile(t.Output); err != nil {
			wrong("test %q: output: %v", t.Name, err)
		}
		if t.User != "" && !numericUser.MatchString(t.User) {
			wrong("test %q: user %q: write numbers, for example 65532:65532", t.Name, t.User)
		}
	}
	return errors.Join(problems...)
}

var numericUser = regexp.MustCompile(`^[0-9]+(:[0-9]+)?$`)

func checkPath(key, name string) error {
	if !path.IsAbs(name) || path.Clean(name) != name || name == "/" {
		return fmt.Errorf("%s: path %q: write a full path in the image, for example /usr/local/bin/tool", key, name)
	}
	return nil
}

func (e Entry) check() error {
	if err := checkPath("files", e.Path); err != nil {
		return err
	}
	kinds := 0
	for _, set := range []bool{e.Content != nil, e.Source != "", e.Link != "", e.MoveFrom != "", e.Directory} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("files: %s: give exactly one of content, source, link, move_from and directory", e.Path)
	}
	if e.MoveFrom != "" {
		if err := checkPath("files", e.MoveFrom); err != nil {
			return err
		}
	}
	if e.Mode != "" && (e.Link != "" || e.MoveFrom != "") {
		return fmt.Errorf("files: %s: links and moved files take no mode", e.Path)
	}
	if err := e.checkSource(); err != nil {
		return err
	}
	_, err := e.FileMode()
	return err
}

// checkSource checks the keys that are for a source only.
func (e Entry) checkSource() error {
	switch {
	case e.Source == "" && e.From != "":
		return fmt.Errorf("files: %s: from without source: name the file or directory of the module", e.Path)
	case e.Source == "" && e.DropLines != "":
		return fmt.Errorf("files: %s: drop_lines is for files with source", e.Path)
	case e.From != "" && !fs.ValidPath(e.Source):
		return fmt.Errorf("files: %s: source %q: write a path in the module without / at its start, such as config/crd", e.Path, e.Source)
	}
	if _, err := regexp.Compile(e.DropLines); err != nil {
		return fmt.Errorf("files: %s: drop_lines: %w", e.Path, err)
	}
	return nil
}

// FileMode returns the permissions with the default applied.
func (e Entry) FileMode() (int64, error) {
	text := e.Mode
	if text == "" {
		text = "0644"
		if e.Directory {
			text = "0755"
		}
	}
	mode, err := strconv.ParseInt(text, 8, 64)
	if err != nil || mode > 0o7777 || mode < 0 {
		return 0, fmt.Errorf("files: %s: mode %q is not octal, such as \"0755\"", e.Path, e.Mode)
	}
	return mode, nil
}

// FromRegistry reports whether the base is a reference to an image of a registry: it has a
// slash, and names in the graph have none.
func (f File) FromRegistry() bool { return strings.Contains(f.Base, "/") }

// validModules reports whether the module sets of the file can be read: an embedded file has none
// of its own.
func (f File) validModules() error {
	if len(f.Modules) > 0 && f.Dir == "" {
		return fmt.Errorf("modules: an embedded image file has no module sets of its own: %w", fs.ErrInvalid)
	}
	return nil
}

// validSource reports whether the source of an entry may be read: embedded files have only
// those of modules.
func (f File) validSource(e Entry) error {
	if e.Source != "" && e.From == "" && f.Dir == "" {
		return fmt.Errorf("files: %s: an embedded image file has no sources but those of modules: %w", e.Path, fs.ErrInvalid)
	}
	return nil
}
