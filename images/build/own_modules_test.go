package build

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/images/imagefile"
)

// ownSet writes an image file with a module set of its own, and returns the image of a builder whose
// compiler is Go's own: the program has no dependencies.
func ownSet(t *testing.T, goMod string) (*builder, *output, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"tool.yaml": "name: tool\nimage: registry.example/tool\nversion: v1\nbase: scratch\n" +
			"modules: {tool: {directory: pins, path: example.org/tool, tags: [a, b], variables: {example.org/tool/version.Full: v1 of today, example.org/tool/version.Version: v1}}}\n" +
			"binaries: [{from: tool, program: tool, path: /tool}]\nfiles: [{path: /run.sh, from: tool, source: run.sh, mode: \"0755\"}]\n",
		"pins/go.mod": goMod,
		"pins/go.sum": "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := fakeBuilder(t)
	set, err := imagefile.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	b.images, b.options.Names, b.options.OnlyImages = set, []string{"tool"}, true
	outputs, err := b.outputs(t.Context(), "v1.36.3")
	if err != nil {
		return b, nil, err
	}
	return b, outputs[0], nil
}

// TestOwnModuleSet: the pins, tags and variables of a user's module set are inputs of the image.
func TestOwnModuleSet(t *testing.T) {
	const pins = "module tool.images\n\ngo 1.26\n\ntool example.org/tool\n"
	_, o, err := ownSet(t, pins)
	if err != nil {
		t.Fatal(err)
	}
	m := o.image.modules[0]
	if m.name != "tool" || m.path != "example.org/tool" || m.tags != "a,b" || m.ldflags != "-X 'example.org/tool/version.Full=v1 of today' -X example.org/tool/version.Version=v1" {
		t.Errorf("the module set is %+v", m)
	}
	if files, err := m.files(); err != nil || string(files["go.mod"]) != pins {
		t.Errorf("its files are %q, %v", files, err)
	}
	_, other, err := ownSet(t, pins+"require example.org/tool v1.0.1\n")
	if err != nil {
		t.Fatal(err)
	}
	if o.key == other.key || m.archiveKey() == other.image.modules[0].archiveKey() {
		t.Error("another version in go.mod changes nothing")
	}
	if !strings.Contains(o.origin, "built from Go module set tool") || o.image.sources["tool"].path != m.path {
		t.Errorf("origin %q, sources %v", o.origin, o.image.sources)
	}
}

// TestOwnModuleSetWithoutPins: a missing file is named with the image and the set.
func TestOwnModuleSetWithoutPins(t *testing.T) {
	f := imagefile.File{Name: "tool", Dir: t.TempDir(), Modules: map[string]imagefile.Module{"set": {Directory: "pins"}}}
	if _, err := ownModule(f, "set"); err == nil || !strings.Contains(err.Error(), "image tool: modules: set: open ") {
		t.Errorf("the error is %v", err)
	}
}
