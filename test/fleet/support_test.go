package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/session"
)

const fleetSize = 60

// recorder keeps the events of a run.
type recorder struct {
	mu     sync.Mutex
	events []engine.Event
}

func (r *recorder) Emit(e engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) all() []engine.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

// siteRuns is a fleet with a controller that runs the site playbook.
type siteRuns struct {
	t     *testing.T
	fleet *Fleet
	site  Site
	c     Controller
	runs  int
}

func newSiteRuns(t *testing.T, n int, o Options) *siteRuns {
	t.Helper()
	o.Dir = memoryDir(t)
	f, err := Start(n, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	blobs, err := NewBlobs()
	if err != nil {
		t.Fatal(err)
	}
	tr := &siteRuns{t: t, fleet: f, site: newSite(f), c: Controller{
		Playbook: os.DirFS("testdata/site"), Main: "site.yaml", Blobs: blobs,
		Retry: session.Retry{Initial: 20 * time.Millisecond, Max: 100 * time.Millisecond},
	}}
	for _, h := range f.Hosts {
		writeFile(t, h, "var/lib/fleet/stale", "left behind\n")
	}
	return tr
}

// memoryDir returns a directory in memory if the system has /dev/shm. Agents sync files
// to disk, which takes most of the time of a test with many hosts on one disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "fleet-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func writeFile(t *testing.T, h *Host, path, content string) {
	t.Helper()
	path = filepath.Join(h.Root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// newSite returns the inventory of the site playbook: the last fifth of the hosts are
// stores.
func newSite(f *Fleet) Site {
	n := len(f.Hosts)
	web := n - n/5
	s := Site{
		Forks:    16, // handshakes at once; two processors are the fleet's and the controller's
		Vars:     map[string]any{"release": "1.0", "port": 8080},
		HostVars: map[string]map[string]any{},
		Groups:   map[string]string{"web": fmt.Sprintf("n[001:%03d]", web), "store": fmt.Sprintf("n[%03d:%03d]", web+1, n)},
	}
	for i, h := range f.Hosts {
		s.HostVars[h.Name] = map[string]any{"index": i + 1}
	}
	return s
}

// run runs the playbook and returns its report and events.
func (tr *siteRuns) run() (*engine.Report, *recorder) {
	tr.t.Helper()
	inv, err := tr.fleet.Inventory(tr.site)
	if err != nil {
		tr.t.Fatal(err)
	}
	rec := &recorder{}
	tr.runs++
	c := tr.c
	c.Inventory, c.Sink = inv, rec
	ctx, stop := context.WithTimeout(tr.t.Context(), 3*time.Minute)
	defer stop()
	began := time.Now()
	report, err := c.Run(ctx, fmt.Sprintf("run-%d", tr.runs))
	if err != nil {
		tr.t.Fatal(err)
	}
	tr.t.Logf("run %d took %v", tr.runs, time.Since(began).Round(time.Millisecond))
	return report, rec
}

// changed compares the number of changed steps of each host with the wanted one, and
// checks that no host has failed.
func (tr *siteRuns) changed(r *engine.Report, want func(i int) int) {
	tr.t.Helper()
	if len(r.Hosts) != len(tr.fleet.Hosts) {
		tr.t.Fatalf("the report has %d hosts, want %d", len(r.Hosts), len(tr.fleet.Hosts))
	}
	for i, h := range r.Hosts {
		if h.Host != tr.fleet.Hosts[i].Name || h.Changed != want(i+1) || h.Failure != nil || h.Failed > 0 || h.Cancelled {
			data, _ := json.Marshal(h)
			tr.t.Errorf("want %d changed steps: %s", want(i+1), data)
		}
	}
	if r.Aborted != "" {
		tr.t.Errorf("aborted: %s", r.Aborted)
	}
}

// trees compares the files of every host with the wanted ones, except for the hosts
// in but.
func (tr *siteRuns) trees(but ...string) {
	tr.t.Helper()
	wrong := 0
	for i, h := range tr.fleet.Hosts {
		if slices.Contains(but, h.Name) {
			continue
		}
		if diff := cmp.Diff(wantTree(tr.fleet, tr.site, i), tree(tr.t, h)); diff != "" {
			tr.t.Errorf("%s is not as it should be (- want, + got):\n%s", h.Name, diff)
			if wrong++; wrong == 3 {
				tr.t.Fatal("the other hosts are not looked at")
			}
		}
	}
}

// tree returns the files of a host.
func tree(t *testing.T, h *Host) map[string]string {
	t.Helper()
	out, err := h.Tree()
	if err != nil {
		t.Fatal(err)
	}
	return out
}
