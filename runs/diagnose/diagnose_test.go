package diagnose

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"deployer/cluster"
	"deployer/engine"
	"deployer/runs/diagnose/rules"
)

var started = time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)

func site() Site {
	return Site{Name: "diagnose-lab", Version: "v1", Started: started, Cluster: &cluster.Cluster{Name: "lab", Nodes: map[string]cluster.Node{"m1": {Name: "m1"}, "n1": {Name: "n1"}}}}
}

func ended(host, name string, output engine.Output) engine.Event {
	return engine.Event{Type: engine.EventStepEnd, Time: started.Add(time.Second), Host: host, Name: name, Result: &engine.Result{Host: host, Status: engine.StatusOK, Output: output}}
}

// collected writes an archive of events and returns its files by name.
func collected(t *testing.T, limit int64, r *engine.Report, events ...engine.Event) (map[string]string, []rules.Finding) {
	t.Helper()
	c, err := NewCollector(limit)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, e := range events {
		c.Emit(e)
	}
	var out bytes.Buffer
	findings, err := c.Write(&out, "a.tar.zst", site(), r)
	if err != nil {
		t.Fatal(err)
	}
	return unpacked(t, &out), findings
}

func unpacked(t *testing.T, in io.Reader) map[string]string {
	t.Helper()
	z, err := zstd.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	files, first := map[string]string{}, ""
	for tr := tar.NewReader(z); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Mode != 0o600 {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
		text, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = h.Name
		}
		files[strings.TrimPrefix(h.Name, "diagnose-lab/")] = string(text)
	}
	if first != "diagnose-lab/README.md" {
		t.Errorf("the archive begins with %s", first)
	}
	return files
}

func TestArchive(t *testing.T) {
	t.Parallel()
	report := &engine.Report{Hosts: []engine.HostReport{{Host: "m1"}, {Host: "n1", Unreachable: true, Failure: &engine.Failure{Message: "no `route` to <b>host"}}}}
	files, findings := collected(t, 1<<20, report,
		engine.Event{Type: engine.EventHostUp, Host: "m1", Time: started},
		ended("m1", "collect system/disks.txt", engine.Output{"stdout": "/dev/vda1 100 97 3 97% /", "stderr": "df: odd"}),
		ended("m1", "collect ../../escape", engine.Output{"stdout": "x"}),
		ended("m1", "versions of the components", engine.Output{"versions": map[string]any{"etcd": "v3.6.8"}}),
		ended("m1", "etcd", engine.Output{"checks": []any{map[string]any{"check": "etcd leader", "host": "", "ok": false, "detail": "token=hunter22"}}}),
	)
	if files["hosts/m1/system/disks.txt"] != "/dev/vda1 100 97 3 97% /\n# standard error\ndf: odd\n" {
		t.Errorf("disks.txt is %q", files["hosts/m1/system/disks.txt"])
	}
	if len(findings) != 3 {
		t.Errorf("findings: %+v", findings)
	}
	page := files["README.md"]
	for _, text := range []string{"2 hosts, 3 critical", "hosts that could not be examined: 1", "## Critical", "`no 'route' to <b>host`", "97 % of the space", "hosts/m1/system/disks.txt"} {
		if !strings.Contains(page, text) {
			t.Errorf("the first page lacks %q:\n%s", text, page)
		}
	}
	for name, text := range files {
		if strings.Contains(text, "hunter22") {
			t.Errorf("%s has a secret:\n%s", name, text)
		}
		if strings.Contains(name, "escape") {
			t.Errorf("the archive has %s", name)
		}
	}
	if !strings.Contains(files["hosts/m1/versions.json"], `"etcd": "v3.6.8"`) {
		t.Errorf("versions.json is %s", files["hosts/m1/versions.json"])
	}
}

// TestLimit: of an output that exceeds the limit of a host the end stays, because the
// newest lines are there.
func TestLimit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("old line\n", 1000) + "newest line"
	files, _ := collected(t, 100, &engine.Report{Hosts: []engine.HostReport{{Host: "m1"}}}, ended("m1", "collect units/a.log", engine.Output{"stdout": long}))
	got := files["hosts/m1/units/a.log"]
	if len(got) > 200 || !strings.HasPrefix(got, cutMark) || !strings.HasSuffix(got, "newest line\n") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}
