package tasks

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestWhatIsKeptCanBePutBack: every kind under which a module keeps something is
// in the table, has a restorer, and that restorer can look and restored.
func TestWhatIsKeptCanBePutBack(t *testing.T) {
	t.Parallel()
	have := map[string]bool{}
	for _, k := range Modules() {
		if r := k.Restorer; r != nil {
			have[k.Name] = true
			if r.Read == nil || r.Restore == nil || r.Effect == "" {
				t.Errorf("the restorer of %s is not whole", k.Name)
			}
		}
	}
	for name := range restorers {
		if !have[name] {
			t.Errorf("there is a restorer for %q, which is no kind", name)
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
				t.Errorf("%s keeps a state of the kind %s, which nothing can restore", path, call[1])
			}
		}
		return err
	})
	if err != nil || kept < len(restorers) {
		t.Errorf("%d calls were found, %v", kept, err)
	}
}
