package lang

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
)

func TestFilesWalk(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]fs.FileMode{"files/site/index.html": 0o644, "files/site/bin/up": 0o755, "files/f": 0o600} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("bin/up", filepath.Join(dir, "files/site/link")); err != nil {
		t.Fatal(err)
	}
	f := NewFiles("the playbook", "", os.DirFS, SearchDir{Tree: Tree{Name: "here", FS: os.DirFS(dir)}, Dir: "files", Files: true})
	site := []engine.FileEntry{
		{Name: "bin", Mode: fs.ModeDir | 0o755}, {Name: "bin/up", Mode: 0o755, Size: 17},
		{Name: "index.html", Mode: 0o644, Size: 21}, {Name: "link", Mode: 0o755, Size: 17},
	}
	for name, want := range map[string][]engine.FileEntry{
		"site": site, "site/.": site, filepath.Join(dir, "files/site"): site,
		"f": {{Mode: 0o600, Size: 7}}, filepath.Join(dir, "files/f"): {{Mode: 0o600, Size: 7}},
	} {
		got, err := f.Walk(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i := range got {
			if got[i].Mode.IsDir() {
				got[i].Size = 0 // the size depends on the file system
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if content, err := f.File("site/link"); err != nil || string(content) != "files/site/bin/up" {
		t.Errorf("%q, %v", content, err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "files/site/up")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"none":  `the playbook has no file "none"; looked for [here/files/none]`,
		"../..": `reading file "../.." of the playbook: the path leaves a directory that is not on disk`,
		"site":  "here/files/site/up is not a regular file, a directory or a link to a regular file",
	} {
		if _, err := f.Walk(name); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
