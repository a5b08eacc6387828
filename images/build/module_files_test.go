package build

import (
	"archive/zip"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"deployer/images/imagefile"
)

// moduleImage returns an image with these entries of files, and the builder of it; the module
// set calico has a few fixed files.
func moduleImage(t *testing.T, entries string) (*builder, *output) {
	t.Helper()
	f, err := imagefile.Read("own.yaml", []byte("name: own\nimage: registry.example/own\nversion: \"1\"\nbase: scratch\nfiles: "+entries+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := imagefile.NewSet([]imagefile.File{f})
	if err != nil {
		t.Fatal(err)
	}
	b := fakeBuilder(t)
	b.images, b.options.OnlyImages = set, true
	b.moduleArchives[calicoModule().name] = fstest.MapFS{
		"services/a/run":     {Data: []byte("run a"), Mode: 0o444},
		"services/a/log/run": {Data: []byte("log a"), Mode: 0o444},
		"services/b/run":     {Data: []byte("run b"), Mode: 0o444},
		"filter":             {Data: []byte("one\ntunnel = 1;\nthree\n  tunnel = 2;")},
	}
	outputs, err := b.outputs(t.Context(), "v1.36.3")
	if err != nil || len(outputs) != 1 {
		t.Fatalf("%d outputs, %v", len(outputs), err)
	}
	return b, outputs[0]
}

// TestFilesOfAModule: a directory of a module comes with all its files, which have the mode of
// the entry, and lines can be left out of a file.
func TestFilesOfAModule(t *testing.T) {
	b, o := moduleImage(t, `[{path: /etc/service, from: calico, source: services, mode: "0755"}, {path: /etc/filter, from: calico, source: filter, drop_lines: "^ *tunnel"}]`)
	got, err := b.imageTree(t.Context(), o.image)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"etc/service/a/run": "run a", "etc/service/a/log/run": "log a", "etc/service/b/run": "run b", "etc/filter": "one\nthree\n",
	} {
		if got := string(got[name].content); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]int64{"etc/service": 0o755, "etc/service/a/run": 0o755, "etc/service/a/log": 0o755, "etc/filter": 0o644} {
		if mode := got[name].header.Mode; mode != want {
			t.Errorf("%s has mode %o, want %o", name, mode, want)
		}
	}
	if want := "files of Go module set calico-v3.28.4"; !strings.Contains(o.origin, want) {
		t.Errorf("the origin is %q, want %q", o.origin, want)
	}
}

func TestFilesRefuse(t *testing.T) {
	for entries, want := range map[string]string{
		`[{path: /a, link: /b}, {path: /a/x, content: y}]`:               "/a is a link to /b",
		`[{path: /x, from: calico, source: nothing}]`:                    "nothing: file does not exist",
		`[{path: /x, from: calico, source: filter, drop_lines: "four"}]`: `no line of filter matches "four"`,
	} {
		b, o := moduleImage(t, entries)
		if _, err := b.imageTree(t.Context(), o.image); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "image own: files: /") {
			t.Errorf("%s: error is %v, want %q", entries, err, want)
		}
	}
}

// TestKeyOfModuleFiles: the key of an image changes with the lines that are left out and with
// the pins of the module.
func TestKeyOfModuleFiles(t *testing.T) {
	keys := map[string]bool{}
	for _, entries := range []string{
		`[{path: /x, from: calico, source: filter}]`, `[{path: /x, from: calico, source: filter, drop_lines: tunnel}]`, `[{path: /x, from: etcd, source: filter}]`,
	} {
		_, o := moduleImage(t, entries)
		keys[o.key] = true
	}
	if len(keys) != 3 {
		t.Errorf("%d keys of 3 images", len(keys))
	}
}

// TestOpenModule: the files of a module's archive are found without its path and version.
func TestOpenModule(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "v1.zip")
	err := writeThrough(archive, func(w io.Writer) error {
		z := zip.NewWriter(w)
		file, err := z.Create("example.org/m@v1.0.0/config/list.yaml")
		if err != nil {
			return err
		}
		_, err = io.WriteString(file, "content")
		return errors.Join(err, z.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := openModule(archive, "example.org/m@v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := fs.ReadFile(files, "config/list.yaml"); err != nil || string(content) != "content" {
		t.Errorf("the file has %q (%v)", content, err)
	}
}
