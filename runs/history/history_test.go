package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/engine/journal"
	"deployer/engine/lock"
	"deployer/engine/record"
	"deployer/engine/remote"
)

// TestRelocate checks that paths of another machine become those of this one, whatever the
// two have in common, and that locks are not weakened.
func TestRelocate(t *testing.T) {
	there := journal.Header{
		Invocation: journal.Invocation{Inventory: "/home/ann/site/prod/hosts.yaml", Playbook: "/home/ann/site/books/site.yaml", LockHosts: true},
		Files: map[string]string{
			"/home/ann/site/prod/hosts.yaml": "1", "/home/ann/site/prod/group_vars/all.yaml": "2", "/home/ann/site/books/site.yaml": "3",
			"/home/ann/site/books/roles/web/tasks/main.yaml": "4", "/home/ann/site/common/vars.yaml": "5", "/etc/deployer/vars.yaml": "6",
		},
	}
	for _, c := range []struct {
		inventory, playbook string
		want                []string // in the order of the digests
	}{
		{"/work/site/prod/hosts.yaml", "/work/site/books/site.yaml", []string{"/work/site/prod/hosts.yaml", "/work/site/prod/group_vars/all.yaml", "/work/site/books/site.yaml",
			"/work/site/books/roles/web/tasks/main.yaml", "/work/site/common/vars.yaml", "/etc/deployer/vars.yaml"}},
		{"/ci/inventory.yml", "/ci/play/site.yaml", []string{"/ci/inventory.yml", "/ci/group_vars/all.yaml", "/ci/play/site.yaml",
			"/ci/play/roles/web/tasks/main.yaml", "/home/ann/site/common/vars.yaml", "/etc/deployer/vars.yaml"}},
		{"/work/site/prod/hosts.yaml", "", []string{"/work/site/prod/hosts.yaml", "/work/site/prod/group_vars/all.yaml", "/work/site/books/site.yaml",
			"/work/site/books/roles/web/tasks/main.yaml", "/work/site/common/vars.yaml", "/etc/deployer/vars.yaml"}},
	} {
		got := Relocate(there, c.inventory, c.playbook)
		want := map[string]string{}
		for i, path := range c.want {
			want[path] = fmt.Sprint(i + 1)
		}
		if diff := cmp.Diff(want, got.Files); diff != "" {
			t.Errorf("%s: %s", c.inventory, diff)
		}
		if diff := cmp.Diff(journal.Invocation{Inventory: c.inventory, Playbook: c.playbook}, got.Invocation); diff != "" {
			t.Error(diff)
		}
	}
	if there.Files["/home/ann/site/prod/hosts.yaml"] != "1" {
		t.Error("the header of the other machine has changed")
	}
}

// host is a session with a host in memory.
type host struct {
	records map[string][]byte
	holder  *lock.Holder
	slow    bool // never answers
}

func (h *host) ListRecords(ctx context.Context) ([]remote.RecordEntry, *lock.Holder, error) {
	if h.slow {
		<-ctx.Done()
		return nil, nil, context.Cause(ctx)
	}
	var out []remote.RecordEntry
	for run, data := range h.records {
		out = append(out, remote.RecordEntry{Run: run, Size: int64(len(data))})
	}
	return out, h.holder, nil
}

// ReadRecord sends parts of 10 000 bytes.
func (h *host) ReadRecord(_ context.Context, run string, offset int64) ([]byte, int64, error) {
	data := h.records[run]
	return data[min(offset, int64(len(data))):min(offset+10_000, int64(len(data)))], int64(len(data)), nil
}

func (h *host) Close() error { return nil }

// keep makes the record of a run with n steps, and its outcome if it has ended.
func keep(t *testing.T, run string, n int, ended bool) []byte {
	t.Helper()
	k := &memory{}
	r, err := record.New(record.Options{Keepers: []string{"m1"}, Header: journal.Header{Run: run, Started: time.Unix(1_000_000, 0).UTC(), Invocation: journal.Invocation{Verb: "install"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.Attach(t.Context(), "m1", k)
	for i := range n {
		r.Emit(engine.Event{Time: time.Unix(int64(i), 0), Type: engine.EventStepEnd, Host: "m1", Step: fmt.Sprint(i*i, "-", i), Result: &engine.Result{Host: "m1", Status: engine.StatusChanged, Started: time.Unix(int64(i*7919), int64(i)*104729)}})
	}
	if ended {
		r.Emit(engine.Event{Type: engine.EventRunEnd, Report: &engine.Report{Run: run, Hosts: []engine.HostReport{{Host: "m1", Changed: n}}}})
	}
	r.Close()
	return k.data
}

type memory struct{ data []byte }

func (m *memory) AppendRecord(_ context.Context, _ string, offset int64, data []byte) (int64, error) {
	if offset == int64(len(m.data)) {
		m.data = append(m.data, data...)
	}
	return int64(len(m.data)), nil
}
func (m *memory) Lost() <-chan struct{} { return nil }

// fetch returns the history of hosts; a nil host is one that cannot be reached.
func fetch(t *testing.T, whole string, hosts map[string]*host) *History {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	h, err := Local()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	err = h.Fetch(t.Context(), FetchOptions{Hosts: []string{"m1", "m2", "m3"}, Whole: func(all []*Entry) []string { return Match(all, whole) },
		Connect: func(_ context.Context, name string) (Session, error) {
			if hosts[name] == nil {
				return nil, errors.New("connection refused")
			}
			return hosts[name], nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestFetch checks that a large run is listed by its header and outcome only, that the
// longest copy counts, that a held lock means that a run goes on, and that nothing stays
// after Close.
func TestFetch(t *testing.T) {
	done, cut := keep(t, "r1", 40_000, true), keep(t, "r2", 3, false)
	if len(done) <= briefSize {
		t.Fatalf("the record has %d bytes only", len(done))
	}
	h := fetch(t, "r2", map[string]*host{
		"m1": {records: map[string][]byte{"r1": done[:len(done)-5], "r2": cut[:len(cut)-1]}},
		"m3": {records: map[string][]byte{"r1": done, "r2": cut}, holder: &lock.Holder{Run: "r2", By: "ann@ci", PID: 7}},
	})
	r1, err := h.Find("r1")
	if err != nil || !r1.Brief || r1.Outcome != engine.OutcomeDone || r1.Report.Changed() != 40_000 {
		t.Errorf("%+v, %v", r1, err)
	}
	r2, err := h.Find("r2")
	if err != nil || r2.Outcome != journal.Running || r2.Holder == nil || r2.Results[engine.StatusChanged] != 3 {
		t.Errorf("%+v, %v", r2, err)
	}
	if got := strings.Join(r2.Places(), ","); got != "m1,m3" || h.Failed["m2"] == nil {
		t.Errorf("found at %s, failed: %v", got, h.Failed)
	}
	if _, err := h.Find("r"); err == nil || !strings.Contains(err.Error(), "ambiguous") {
		t.Error(err)
	}
	temp := h.temp.Path
	h.Close()
	if _, err := os.Stat(temp); !os.IsNotExist(err) {
		t.Error("fetched logs stay")
	}
}

// TestContradictions checks that copies which contradict each other are refused when the
// run is read whole.
func TestContradictions(t *testing.T) {
	h := fetch(t, "r1", map[string]*host{"m1": {records: map[string][]byte{"r1": keep(t, "r1", 3, true)}}, "m2": {records: map[string][]byte{"r1": keep(t, "r1", 5, true)}}})
	if _, err := h.Find("r1"); err == nil || !strings.Contains(err.Error(), "contradict each other") {
		t.Error(err)
	}
}

// TestFollow checks that runs which name each other are followed once.
func TestFollow(t *testing.T) {
	entry := func(run, resumes string) *Entry {
		return &Entry{Record: &journal.Record{Header: journal.Header{Run: run, Resumes: resumes}}}
	}
	all := []*Entry{entry("4", "3"), entry("3", "0"), entry("2", "1"), entry("1", "2")}
	for run, want := range map[string]string{"4": "4 3 0", "2": "2 1", "9": "9", "": ""} {
		if got := strings.Join(Follow(all, run, func(h journal.Header) string { return h.Resumes }), " "); got != want {
			t.Errorf("%q: %s, want %s", run, got, want)
		}
	}
}
