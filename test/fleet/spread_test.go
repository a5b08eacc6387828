package fleet

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"deployer/engine"
	"deployer/engine/spread"
	"deployer/engine/spread/peer"
	"deployer/engine/spread/tracker"
)

// sharedRun is a fleet that installs one large file, first on some hosts and then on the others.
type sharedRun struct {
	*siteRuns
	content []byte
	digest  string
	tracker *tracker.Tracker
	events  *recorder
}

const spreadPlaybook = `
- hosts: early
  tasks:
    - blob_install: {blob: "{{ digest }}", dest: /opt/large}
- hosts: early
  tasks:
    - directory: {path: /opt/mark}
- hosts: late
  tasks:
    - blob_install: {blob: "{{ digest }}", dest: /opt/large}
`

// newSharedRun returns a fleet in racks of perRack hosts. The first early ones begin; when all of them
// have the file, between is called, which may be nil, and then the others begin.
func newSharedRun(t *testing.T, n, perRack, early int, between func(*sharedRun)) *sharedRun {
	t.Helper()
	var r *sharedRun
	var mu sync.Mutex
	missing, done := early, make(chan struct{})
	before := func(ctx context.Context, h *Host, module string) {
		isEarly := h.Name <= fmt.Sprintf("n%03d", early)
		switch {
		case module == "directory":
			mu.Lock()
			defer mu.Unlock()
			if missing--; missing == 0 {
				if between != nil {
					between(r)
				}
				close(done)
			}
		case !isEarly:
			select {
			case <-done:
			case <-ctx.Done():
			}
		}
	}
	r = &sharedRun{siteRuns: newSiteRuns(t, n, Options{Before: before}), content: make([]byte, peer.ChunkSize+12345), events: &recorder{}}
	_, _ = rand.NewChaCha8([32]byte{1}).Read(r.content)
	r.digest = r.c.Blobs.AddBlob(r.content)
	r.c.Playbook, r.c.Main = fstest.MapFS{"spread.yaml": {Data: []byte(spreadPlaybook)}}, "spread.yaml"
	r.site = Site{Forks: n, Vars: map[string]any{"digest": r.digest},
		Groups: map[string]string{"early": fmt.Sprintf("n[001:%03d]", early), "late": fmt.Sprintf("n[%03d:%03d]", early+1, n)}}
	var hosts []tracker.Host
	for i, h := range r.fleet.Hosts {
		hosts = append(hosts, tracker.Host{Host: spread.Host{Name: h.Name, Rack: fmt.Sprint(i / perRack)}, Address: h.Address})
	}
	var err error
	r.tracker, err = tracker.New(tracker.Options{Hosts: hosts, Blobs: r.c.Blobs, Port: freePort(t, r.fleet), BytesPerSecond: peer.DefaultBytesPerSecond, Emit: r.events.Emit})
	if err != nil {
		t.Fatal(err)
	}
	r.c.Peers = r.tracker
	return r
}

// freePort returns a port that is free on the first host; all have addresses of their own.
func freePort(t *testing.T, f *Fleet) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(f.Hosts[0].Address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// finish closes the tracker and returns the texts of its events of a type.
func (r *sharedRun) finish(kind engine.EventType) []string {
	r.tracker.Close()
	var out []string
	for _, e := range r.events.all() {
		if e.Type == kind {
			out = append(out, strings.TrimSpace(e.Host+" "+e.Text))
		}
	}
	return out
}

// installed checks the file on all hosts except some, and that no host keeps its copy for others.
func (r *sharedRun) installed(but ...string) {
	r.t.Helper()
	for _, h := range r.fleet.Hosts {
		if slices.Contains(but, h.Name) {
			continue
		}
		if got, err := os.ReadFile(filepath.Join(h.Root, "opt/large")); err != nil || !bytes.Equal(got, r.content) {
			r.t.Errorf("%s: %d bytes, %v", h.Name, len(got), err)
		}
		spools := func() []string {
			left, _ := filepath.Glob(filepath.Join(h.Root, "var/lib/deployer/spread/*"))
			return left
		}
		// The agent cleans up after the good-bye.
		for range 500 {
			if len(spools()) == 1 {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if left := spools(); len(left) != 1 {
			r.t.Errorf("%s keeps %v, want only the lock", h.Name, left)
		}
	}
}

// TestHostsShareBlobs checks that a large blob reaches many hosts with few copies from the
// controller, in one stream for each rack.
func TestHostsShareBlobs(t *testing.T) {
	t.Parallel()
	const n = 16
	r := newSharedRun(t, n, 4, 4, nil)
	report, _ := r.run()
	if broken := report.Broken(); len(broken) > 0 {
		t.Fatalf("%+v", broken)
	}
	received, warnings := r.finish(engine.EventReceived), r.finish(engine.EventWarning)
	// On a busy machine hosts may not answer in time; then the controller sends more, and says so.
	if sent := r.c.Blobs.Sent(); len(warnings) == 0 && (sent < 1 || sent > 5 || len(received) != n) {
		t.Errorf("the controller sent %d copies to %d hosts; sources: %v", sent, n, received)
	}
	if sum := r.finish(engine.EventDistributed); len(sum) == 0 || !strings.HasPrefix(sum[0], "1 large blob") {
		t.Errorf("the sum is %q", sum)
	}
	if all := strings.Join(warnings, "\n"); strings.Contains(all, "wrong content") || strings.Contains(all, "cannot serve") {
		t.Errorf("warnings: %v", warnings)
	}
	r.installed()
}

// TestHostSendsWrongChunks checks that a host whose copy was changed is found by the first host
// that receives a chunk of it, is named, and that all hosts have the right content.
func TestHostSendsWrongChunks(t *testing.T) {
	t.Parallel()
	r := newSharedRun(t, 10, 10, 3, func(r *sharedRun) {
		for _, name := range []string{"n001", "n002"} {
			path := filepath.Join(r.fleet.Host(name).Root, "var/lib/deployer/spread", r.digest)
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = f.WriteAt([]byte("wrong"), 1000)
			_ = f.Close()
		}
	})
	report, _ := r.run()
	if broken := report.Broken(); len(broken) > 0 {
		t.Fatalf("%+v", broken)
	}
	warnings := strings.Join(r.finish(engine.EventWarning), "\n")
	// A host that does not answer in time, on a busy machine, is not found out.
	if !strings.Contains(warnings, "n001 the host sent ") && !strings.Contains(warnings, "n002 the host sent ") && !strings.Contains(warnings, "cannot connect") {
		t.Errorf("no host with wrong chunks is named: %q", warnings)
	}
	r.installed()
}

// TestHostsCannotListen checks that hosts whose port is in use receive from others, and that the
// controller serves all when nobody listens.
func TestHostsCannotListen(t *testing.T) {
	t.Parallel()
	r := newSharedRun(t, 8, 8, 2, nil)
	for _, h := range r.fleet.Hosts[1:] {
		l, err := net.Listen("tcp", net.JoinHostPort(h.Address, fmt.Sprint(r.tracker.Port())))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	report, _ := r.run()
	if broken := report.Broken(); len(broken) > 0 {
		t.Fatalf("%+v", broken)
	}
	if all := strings.Join(r.finish(engine.EventWarning), "\n"); strings.Count(all, "cannot serve blobs") != 7 {
		t.Errorf("warnings: %q", all)
	}
	r.installed()
}

// TestPeersDie checks that hosts whose source dies in the middle receive the rest from others.
func TestPeersDie(t *testing.T) {
	t.Parallel()
	dead := []string{"n001", "n002"}
	r := newSharedRun(t, 10, 5, 4, func(r *sharedRun) {
		for _, name := range dead {
			r.fleet.Host(name).Stop()
		}
	})
	r.site.MaxFail = map[string]string{"all": "50%"}
	report, _ := r.run()
	for _, h := range report.Broken() {
		if !slices.Contains(dead, h.Host) {
			t.Errorf("%s has failed: %+v", h.Host, h.Failure)
		}
	}
	r.installed(dead...)
}
