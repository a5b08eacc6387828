package machine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sysctls(t *testing.T, values map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	dir := filepath.Join(root, "fs", "inotify")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, v := range values {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(v+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestOnlyLimitsThatAreTooLowAreRaised(t *testing.T) {
	root := sysctls(t, map[string]string{"max_user_instances": "128", "max_user_watches": "1000000"})
	got, err := raise(root)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"fs.inotify.max_user_instances: 128 -> 8192"}, got); d != "" {
		t.Error(d)
	}
	for name, want := range map[string]string{"max_user_instances": "8192", "max_user_watches": "1000000"} {
		text, _ := os.ReadFile(filepath.Join(root, "fs", "inotify", name))
		if strings.TrimSpace(string(text)) != want {
			t.Errorf("%s is %s, want %s", name, text, want)
		}
	}
	if again, err := raise(root); len(again) != 0 || err != nil {
		t.Errorf("a second time: %v, %v", again, err)
	}
}

func TestRaiseNamesTheLimitThatIsNoNumber(t *testing.T) {
	root := sysctls(t, map[string]string{"max_user_instances": "many", "max_user_watches": "1"})
	if _, err := raise(root); err == nil || !strings.Contains(err.Error(), "fs.inotify.max_user_instances") {
		t.Errorf("got %v", err)
	}
}
