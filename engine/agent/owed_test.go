package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOwed goes through what a host remembers, each time from the disk as a new
// agent would.
func TestOwed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	host := func() *state { return openState(ServeOptions{Root: root, StateDir: "/state"}) }
	for _, step := range []struct {
		do   func(*state) error
		want []string
	}{
		{func(s *state) error { return s.settle("site//reload") }, nil},
		{func(s *state) error { return s.owe(nil) }, nil},
		{func(s *state) error { return s.owe([]string{"site//reload", "site/web/restart it"}) }, []string{"site//reload", "site/web/restart it"}},
		{func(s *state) error { return s.owe([]string{"site//reload"}) }, []string{"site//reload", "site/web/restart it"}},
		{func(s *state) error { return s.owe([]string{"broken\nname"}) }, []string{"site//reload", "site/web/restart it"}},
		{func(s *state) error { return s.settle("site//reload") }, []string{"site/web/restart it"}},
		{func(s *state) error { return s.settle("another") }, []string{"site/web/restart it"}},
		{func(s *state) error { return s.settle("site/web/restart it") }, nil},
	} {
		if err := step.do(host()); err != nil {
			t.Fatal(err)
		}
		got, err := host().owed()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}
