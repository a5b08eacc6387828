package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/test/fleet"
)

// trees returns all files of the hosts except the files of agents.
func (s *testSite) trees() map[string]string {
	s.t.Helper()
	out := map[string]string{}
	for _, h := range s.fleet.Hosts {
		err := filepath.WalkDir(h.Root, func(path string, d fs.DirEntry, err error) error {
			name := strings.TrimPrefix(path, h.Root)
			switch {
			case err != nil:
				return err
			case name == "/var/lib/deployer":
				return fs.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			content := ""
			if info.Mode().IsRegular() {
				raw, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				content = string(raw)
			} else if info.Mode()&fs.ModeSymlink != 0 {
				content, _ = os.Readlink(path)
			}
			if name != "" && name != "/var" && name != "/var/lib" {
				out[h.Name+name] = fmt.Sprint(info.Mode(), " ", content)
			}
			return nil
		})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return out
}

func newWebSite(t *testing.T, hosts int, o fleet.Options) *testSite {
	t.Helper()
	s := newTestSiteWith(t, hosts, o, map[string]string{"site.yaml": web})
	for i := range hosts {
		s.writeHostFile(i, "etc/web.conf", "by hand\n")
		s.writeHostFile(i, "srv/old/deep/file", "old")
	}
	return s
}

// maxParallel returns the maximum number of hosts that were between two steps at a time,
// from the log of a run.
func maxParallel(t *testing.T, run, first, last string) int {
	t.Helper()
	inside, peak := map[string]bool{}, 0
	eachEvent(t, run, func(e *engine.Event) {
		switch {
		case e.Type != engine.EventStepEnd:
		case e.Name == first:
			inside[e.Host] = true
			peak = max(peak, len(inside))
		case e.Name == last:
			delete(inside, e.Host)
		}
	})
	if len(inside) > 0 {
		t.Errorf("%v came to %q and not to %q", inside, first, last)
	}
	return peak
}

func eachEvent(t *testing.T, run string, on func(*engine.Event)) {
	t.Helper()
	dir, err := journal.Dir()
	if err == nil {
		err = journal.Scan(journal.Path(dir, run), func(_ *journal.Header, e *engine.Event) error {
			if e != nil {
				on(e)
			}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}
