package imagefile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEmbedded: every image of the project has a test, without which it could not be
// promoted.
func TestEmbedded(t *testing.T) {
	set, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range set.Files() {
		if len(f.Tests) == 0 {
			t.Errorf("image %s has no test", f.Name)
		}
	}
	if got := set.WithDependents("tools"); !slices.Equal(got, []string{"tools", "debug"}) {
		t.Errorf("on top of tools are %q", got)
	}
	if got := set.WithBases("debug"); !slices.Equal(got, []string{"tools", "debug"}) {
		t.Errorf("debug is built on %q", got)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, test := range map[string]struct{ content, err string }{
		"unknown key":         {"name: a\nbase: scratch\npackage: [x]\n", "image.yaml:3:1"},
		"no base":             {"name: a\n", "base"},
		"two versions":        {"name: a\nbase: scratch\nversion: \"1\"\nversion_of_package: x\n", "exclude each other"},
		"own base":            {"name: a\nbase: a\n", "the image itself"},
		"name of user":        {"name: a\nbase: scratch\nuser: nobody\n", "write numbers"},
		"relative path":       {"name: a\nbase: scratch\nfiles: [{path: etc/x, content: y}]\n", "write a full path"},
		"path with dots":      {"name: a\nbase: scratch\nfiles: [{path: /etc/../x, content: y}]\n", "write a full path"},
		"two kinds":           {"name: a\nbase: scratch\nfiles: [{path: /x, content: y, link: /z}]\n", "exactly one of"},
		"from without source": {"name: a\nbase: scratch\nfiles: [{path: /x, from: calico, content: y}]\n", "from without source"},
		"full source":         {"name: a\nbase: scratch\nfiles: [{path: /x, from: calico, source: /y}]\n", "without / at its start"},
		"source with dots":    {"name: a\nbase: scratch\nfiles: [{path: /x, from: calico, source: ../y}]\n", "without / at its start"},
		"lines of content":    {"name: a\nbase: scratch\nfiles: [{path: /x, content: y, drop_lines: y}]\n", "for files with source"},
		"bad lines":           {"name: a\nbase: scratch\nfiles: [{path: /x, source: y, drop_lines: \"(\"}]\n", "drop_lines"},
		"unknown module set":  {"name: a\nbase: scratch\nfiles: [{path: /x, from: shim, source: y}]\n", "calico"},
		"bad mode":            {"name: a\nbase: scratch\nfiles: [{path: /x, content: y, mode: \"rw\"}]\n", "is not octal"},
		"empty command":       {"name: a\nbase: scratch\ntests: [{name: t, command: []}]\n", "command is empty"},
		"bad expression":      {"name: a\nbase: scratch\ntests: [{name: t, command: [x], output: \"(\"}]\n", "output"},
		"unknown set":         {"name: a\nbase: scratch\nbinaries: [{from: kubernets, program: x, path: /x}]\n", "kubernetes"},
		"set of the project":  {"name: a\nbase: scratch\nmodules: {etcd: {directory: x}}\n", "no name of a set of the project"},
		"set without path":    {"name: a\nbase: scratch\nmodules: {x: {directory: x}}\nfiles: [{path: /x, from: x, source: y}]\n", "module set x has no path"},
		"set without pins":    {"name: a\nbase: scratch\nmodules: {x: {}}\n", "directory"},
		"variable":            {"name: a\nbase: scratch\nmodules: {x: {directory: x, variables: {a.B: c'd}}}\n", "without quotes"},
		"tag":                 {"name: a\nbase: scratch\nmodules: {x: {directory: x, tags: [\"a b\"]}}\n", "no build tag"},
		"package":             {"name: a\nbase: scratch\npackages: [\"ltrace [amd64\"]\n", "ltrace [amd64]"},
		"name":                {"name: A b\nbase: scratch\n", "lower-case"},
	} {
		_, err := Read("image.yaml", []byte(test.content))
		if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), "image.yaml:") {
			t.Errorf("%s: error is %v, want the place and %q", name, err, test.err)
		}
	}
}

func TestNewSetRefuses(t *testing.T) {
	for want, files := range map[string][]File{
		"a is declared twice":      {{Name: "a", Base: Scratch}, {Name: "a", Base: Scratch}},
		`base "c" is no image`:     {{Name: "a", Base: "c"}},
		"bases of images: cycle: ": {{Name: "a", Base: "b"}, {Name: "b", Base: "a"}},
	} {
		if _, err := NewSet(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

// TestOpen: the images of a directory are added to those of the project, and replace
// them by name.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "no image file") {
		t.Errorf("error of an empty directory is %v", err)
	}
	write("mine.yaml", "name: mine\nimage: registry.example/mine\nversion: \"1\"\nbase: tools\n")
	write("pause.yaml", "name: pause\nbase: scratch\nuser: \"1\"\n")
	set, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := set.WithDependents("tools"); !slices.Contains(got, "mine") {
		t.Errorf("on top of tools are %q", got)
	}
	if f, err := set.File("pause"); err != nil || f.User != "1" {
		t.Errorf("pause is %+v, %v", f, err)
	}
}

func TestPackagesFor(t *testing.T) {
	f := File{Packages: []string{"strace", "ltrace [amd64]", "libc++1 [amd64 arm64]"}}
	for arch, want := range map[string][]string{
		"amd64": {"strace", "ltrace", "libc++1"},
		"arm64": {"strace", "libc++1"},
	} {
		if got := f.PackagesFor(arch); !slices.Equal(got, want) {
			t.Errorf("for %s: %q, want %q", arch, got, want)
		}
	}
}
