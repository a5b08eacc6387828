package tasks

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEveryBackupKindHasARestorer: every kind of resource that a module backs up is in
// the table, with a restorer that can read and restore.
func TestEveryBackupKindHasARestorer(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, k := range Modules() {
		if r := k.Restorer; r != nil {
			have[k.Name] = true
			if r.Read == nil || r.Restore == nil || r.Effect == "" {
				t.Errorf("the restorer of %s is incomplete", k.Name)
			}
		}
	}
	for name := range restorers {
		if !have[name] {
			t.Errorf("restorer for the unknown kind %q", name)
		}
	}
	keeps, kept := regexp.MustCompile(`\.BackupState\(([^,]+),`), 0
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, call := range keeps.FindAllSubmatch(source, -1) {
			kept++
			if kind := strings.Trim(string(call[1]), `"`); !have[kind] {
				t.Errorf("%s backs up the kind %s, which has no restorer", path, call[1])
			}
		}
		return err
	})
	if err != nil || kept < len(restorers) {
		t.Errorf("%d calls of Backup found, %v", kept, err)
	}
}
