package statedir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPendingHandlers adds and removes pending handlers, and reads them from the disk each
// time, as a new agent does.
func TestPendingHandlers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	host := func() *Dir { return Open(filepath.Join(root, "state")) }
	for _, step := range []struct {
		do   func(*Dir) error
		want []string
	}{
		{func(s *Dir) error { return s.RemovePendingHandler("site//reload") }, nil},
		{func(s *Dir) error { return s.AddPendingHandlers(nil) }, nil},
		{func(s *Dir) error { return s.AddPendingHandlers([]string{"site//reload", "site/web/restart it"}) }, []string{"site//reload", "site/web/restart it"}},
		{func(s *Dir) error { return s.AddPendingHandlers([]string{"site//reload"}) }, []string{"site//reload", "site/web/restart it"}},
		{func(s *Dir) error { return s.AddPendingHandlers([]string{"broken\nname"}) }, []string{"site//reload", "site/web/restart it"}},
		{func(s *Dir) error { return s.RemovePendingHandler("site//reload") }, []string{"site/web/restart it"}},
		{func(s *Dir) error { return s.RemovePendingHandler("another") }, []string{"site/web/restart it"}},
		{func(s *Dir) error { return s.RemovePendingHandler("site/web/restart it") }, nil},
	} {
		if err := step.do(host()); err != nil {
			t.Fatal(err)
		}
		got, err := host().PendingHandlers()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}
