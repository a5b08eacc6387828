//go:build lab

package networks

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"deployer/test/harness"
)

// copyExample copies a directory of examples next to the inventory, where an add-on can name it.
func copyExample(s *harness.Site, name string) string {
	s.T.Helper()
	dir := filepath.Join(filepath.Dir(s.Inventory), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../../examples", name))); err != nil {
		s.T.Fatal(err)
	}
	return dir
}

// buildImages builds and tests images of a directory with image files, into the artifacts of the
// lab: outside of the lab, whose namespace has no way to module proxies.
func buildImages(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, verb := range []string{"build", "test"} {
		cmd := exec.CommandContext(t.Context(), harness.Binary(t), append([]string{"images", verb, "--images", dir}, names...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("deployer images %s: %v\n%s", verb, err, out)
		}
	}
}

// moduleArchive returns the archive of a Go module, which go downloads and compares with the go.sum
// of a directory.
func moduleArchive(t *testing.T, pins, module string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = pins
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod download %s: %v\n%s", module, err, out)
	}
	var found struct{ Zip string }
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	return found.Zip
}

// extract writes the files below a path of a module's archive into a directory, unchanged.
func extract(t *testing.T, archive, from, dir string) {
	t.Helper()
	files, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	found := false
	for _, f := range files.File {
		_, name, _ := strings.Cut(f.Name, "@")
		_, name, _ = strings.Cut(name, "/")
		rest, ok := strings.CutPrefix(name, from)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		found = true
		target := filepath.Join(dir, path.Base(from), filepath.FromSlash(rest))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			t.Fatal(err)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Fatalf("%s has no %s", archive, from)
	}
}
